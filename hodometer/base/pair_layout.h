#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace hodometer {

/// Which two lanes of a head turn together, for a rotated slice of r lanes.
///
/// half_split:  (j, j + r/2)      the published form of GPT-NeoX; `rotate_half`
/// interleaved: (2j, 2j + 1)      the published form of RoFormer and GPT-J; the complex view
///
/// The two give equal attention scores only after a permutation of the q and k lanes, and no file
/// format records which one a model wants: so it is always written, and has no default.
enum class PairLayout : uint8_t { half_split, interleaved };

constexpr auto enum_names(PairLayout) {
  return std::array<std::pair<PairLayout, std::string_view>, 2>{
      {{PairLayout::half_split, "half_split"}, {PairLayout::interleaved, "interleaved"}}};
}

}  // namespace hodometer
