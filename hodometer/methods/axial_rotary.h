#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

namespace hodometer {

/// How the two axes of an image share the pairs of a head.
enum class AxisLayout : uint8_t {
  /// First half of the pairs axis 0, second half axis 1, each from its own fastest frequency on.
  /// Qwen-VL, Llama 4 and DINOv3 vision towers.
  blocks,
  /// First half of the pairs axis 0, second half axis 1; the frequencies of one series over all
  /// pairs go to the axes in turn. Pixtral.
  alternating,
  /// Even pairs axis 0, odd pairs axis 1, each from its own fastest frequency on. MoonViT.
  alternating_per_axis,
  /// First half of the lanes axis 0, second half axis 1, pairs within each half. Gemma 4 vision.
  parts,
};
constexpr auto enum_names(AxisLayout) {
  return std::array<std::pair<AxisLayout, std::string_view>, 4>{
      {{AxisLayout::blocks, "blocks"},
       {AxisLayout::alternating, "alternating"},
       {AxisLayout::alternating_per_axis, "alternating_per_axis"},
       {AxisLayout::parts, "parts"}}};
}

/// Rotary over the two coordinates of an image patch. Positions have two axes; which one is the
/// height is said by whoever makes them. Coordinates may be fractional.
/// Sources: Hugging Face's vision towers as named in AxisLayout.
struct AxialRotary {
  int64_t head_dim = 0;
  PairLayout layout = PairLayout::half_split;
  double base = 0;
  AxisLayout axis_layout = AxisLayout::blocks;

  static constexpr std::string_view name = "axial_rotary";
  static constexpr auto fields() {
    return std::tuple{
        required("head_dim", &AxialRotary::head_dim, "lanes", "width of a head; all lanes turn"),
        required("layout", &AxialRotary::layout, "", "which two lanes make a pair"),
        required("base", &AxialRotary::base, "", "frequencies run from 1 towards 1/base"),
        required("axis_layout", &AxialRotary::axis_layout, "", "which pairs read which axis")};
  }
};

Status check(const AxialRotary& spec);
std::vector<Action> actions(const AxialRotary& spec, int64_t context_length);

}  // namespace hodometer
