#include "hodometer/methods/sinusoidal.h"

#include <fmt/format.h>

#include <utility>

#include "hodometer/base/check.h"

namespace hodometer {

Status check(const Sinusoidal& spec) {
  HODO_RETURN_IF_ERROR(check_between("dim", spec.dim, 1, max_dim));
  HODO_RETURN_IF_ERROR(check_between("offset", spec.offset, 0, max_rows));
  HODO_RETURN_IF_ERROR(check_between("padding_idx", spec.padding_idx.value_or(0), 0, max_rows));
  if (spec.lane_order == LaneOrder::cosine_first && spec.dim % 2 != 0) {
    return Error{ErrorKind::bad_input,
                 fmt::format("dim is {}: expected an even number where lane_order is cosine_first, "
                             "because every row ends with the sine of its last cosine",
                             spec.dim)};
  }
  return check_positive("base", spec.base);
}

std::vector<Action> actions(const Sinusoidal& spec, int64_t) {
  const int64_t d = spec.dim;
  const bool endpoint = spec.layout == SinusoidalLayout::halves_endpoint;
  const bool interleaved = spec.layout == SinusoidalLayout::interleaved;
  const int64_t sines = endpoint ? d / 2 : (d + 1) / 2;

  SinusoidLanes lanes;
  const Real log_base = log(spec.base);
  for (int64_t i = 0; i < sines; ++i) {
    // tensor2tensor guards the single pair against a division by zero; so does this.
    const Real exponent =
        endpoint ? Real(static_cast<double>(i)) / static_cast<double>(d / 2 > 1 ? d / 2 - 1 : 1)
                 : Real(static_cast<double>(2 * i)) / static_cast<double>(d);
    lanes.inv_freq.push_back(exp(-(exponent * log_base)));
  }
  lanes.num_cosines = d / 2;
  lanes.cosine_start = interleaved ? 1 : sines;
  lanes.lane_stride = interleaved ? 2 : 1;
  if (spec.lane_order == LaneOrder::cosine_first) std::swap(lanes.sine_start, lanes.cosine_start);

  AddRow row;
  row.dim = d;
  row.offset = spec.offset;
  row.zero_row = spec.padding_idx;
  row.sinusoid = std::move(lanes);
  return {row};
}

}  // namespace hodometer
