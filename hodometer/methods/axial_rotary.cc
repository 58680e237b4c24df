#include "hodometer/methods/axial_rotary.h"

#include <fmt/format.h>

#include "hodometer/base/check.h"
#include "hodometer/methods/rotary.h"
#include "hodometer/schedules/band.h"

namespace hodometer {

Status check(const AxialRotary& spec) {
  if (spec.head_dim < 4 || spec.head_dim % 4 != 0 || spec.head_dim > max_head_dim) {
    return Error{ErrorKind::bad_input,
                 fmt::format("head_dim is {}: expected a multiple of 4 up to {}, so that each axis "
                             "has whole pairs",
                             spec.head_dim, max_head_dim)};
  }
  return check_positive("base", spec.base);
}

std::vector<Action> actions(const AxialRotary& spec, int64_t) {
  const int64_t half = spec.head_dim / 2;
  const std::vector<Real> per_axis = plain_inv_freq({spec.base, half});
  RotatePairs rotation;
  rotation.head_dim = spec.head_dim;
  rotation.layout = spec.layout;
  rotation.num_axes = 2;

  if (spec.axis_layout == AxisLayout::parts) {
    rotation.rotary_dim = half;
    rotation.inv_freq = per_axis;
    RotatePairs second = rotation;
    rotation.axis.assign(per_axis.size(), 0);
    second.axis.assign(per_axis.size(), 1);
    second.rotary_start = half;
    return {rotation, second};
  }

  const std::vector<Real> over_all = plain_inv_freq({spec.base, spec.head_dim});
  rotation.rotary_dim = spec.head_dim;
  for (size_t i = 0; i < over_all.size(); ++i) {
    const bool in_turn = spec.axis_layout == AxisLayout::alternating_per_axis;
    const size_t axis = in_turn ? i % 2 : i / per_axis.size();
    const size_t own = in_turn ? i / 2 : i % per_axis.size();
    rotation.axis.push_back(static_cast<uint8_t>(axis));
    rotation.inv_freq.push_back(
        spec.axis_layout == AxisLayout::alternating ? over_all[2 * own + axis] : per_axis[own]);
  }
  return {rotation};
}

}  // namespace hodometer
