#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

namespace hodometer {

/// Where sines and cosines lie, and what the slowest frequency is.
enum class SinusoidalLayout : uint8_t {
  interleaved,      ///< sin, cos, sin, cos; base^(-2i/dim). Vaswani et al. 2017, section 3.5
  halves,           ///< all sines, all cosines; base^(-2i/dim). Marian, Pegasus, RoFormer
  halves_endpoint,  ///< all sines, all cosines; base^(-i/(dim/2-1)), so that the last frequency is
                    ///< exactly 1/base. tensor2tensor, fairseq, Whisper, M2M100
};
constexpr auto enum_names(SinusoidalLayout) {
  return std::array<std::pair<SinusoidalLayout, std::string_view>, 3>{
      {{SinusoidalLayout::interleaved, "interleaved"},
       {SinusoidalLayout::halves, "halves"},
       {SinusoidalLayout::halves_endpoint, "halves_endpoint"}}};
}

/// Which of the two comes first, in a half or in a pair of lanes.
enum class LaneOrder : uint8_t { sine_first, cosine_first };
constexpr auto enum_names(LaneOrder) {
  return std::array<std::pair<LaneOrder, std::string_view>, 2>{
      {{LaneOrder::sine_first, "sine_first"}, {LaneOrder::cosine_first, "cosine_first"}}};
}

/// Sines and cosines of the position, added to the embedding.
///
/// An odd dim has one sine more than cosines in the first two layouts, and a last lane of 0 in the
/// third, as the implementations do.
struct Sinusoidal {
  int64_t dim = 0;
  SinusoidalLayout layout = SinusoidalLayout::interleaved;
  double base = 10000;
  LaneOrder lane_order = LaneOrder::sine_first;
  int64_t offset = 0;
  std::optional<int64_t> padding_idx = {};

  static constexpr std::string_view name = "sinusoidal";
  static constexpr auto fields() {
    return std::tuple{
        required("dim", &Sinusoidal::dim, "lanes", "width of the embedding"),
        required("layout", &Sinusoidal::layout, "", "where sines and cosines lie"),
        optional("base", &Sinusoidal::base, "",
                 "frequencies run from 1 towards 1/base; halves_endpoint reaches it"),
        optional("lane_order", &Sinusoidal::lane_order, "", "MusicGen's cosines come first"),
        optional("offset", &Sinusoidal::offset, "positions",
                 "row of position 0; fairseq starts at padding_idx + 1"),
        optional("padding_idx", &Sinusoidal::padding_idx, "row", "a row that is all zeros")};
  }
};

Status check(const Sinusoidal& spec);
std::vector<Action> actions(const Sinusoidal& spec, int64_t context_length);

}  // namespace hodometer
