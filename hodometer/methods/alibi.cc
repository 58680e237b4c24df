#include "hodometer/methods/alibi.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "hodometer/base/check.h"

namespace hodometer {

std::vector<double> alibi_slopes(int64_t num_heads, double alibi_bias_max, SlopeSeries series) {
  const auto n = static_cast<uint64_t>(num_heads);
  const auto first =
      static_cast<int64_t>(series == SlopeSeries::one_series ? n : std::bit_floor(n));
  std::vector<double> slopes;
  for (int64_t h = 0; h < num_heads; ++h) {
    // Head h of the first series is term h + 1; the heads beyond it take the odd terms of a series
    // twice as fine.
    const double term =
        h < first ? static_cast<double>(h + 1) : static_cast<double>(2 * (h - first) + 1) / 2;
    slopes.push_back(std::exp2(-alibi_bias_max * term / static_cast<double>(first)));
  }
  return slopes;
}

namespace {

// The bias of the largest distance is a float32.
constexpr double max_slope = 1e28;

}  // namespace

Status check(const Alibi& spec) {
  if (!spec.slopes) {
    if (!spec.num_heads) {
      return Error{ErrorKind::bad_input, "num_heads is missing: expected it, or slopes"};
    }
    HODO_RETURN_IF_ERROR(check_between("num_heads", *spec.num_heads, 1, max_num_heads));
    return check_positive("alibi_bias_max", spec.alibi_bias_max);
  }
  if (spec.slopes->empty()) {
    return Error{ErrorKind::bad_input, "slopes is empty: expected one per head"};
  }
  if (spec.num_heads && *spec.num_heads != static_cast<int64_t>(spec.slopes->size())) {
    return Error{ErrorKind::bad_input, fmt::format("slopes has {} entries: expected num_heads, {}",
                                                   spec.slopes->size(), *spec.num_heads)};
  }
  const Alibi unused;
  if (spec.alibi_bias_max != unused.alibi_bias_max || spec.slope_series != unused.slope_series) {
    return Error{ErrorKind::bad_input,
                 "alibi_bias_max or slope_series beside slopes: expected one or the other, because "
                 "slopes leave nothing to compute"};
  }
  for (size_t h = 0; h < spec.slopes->size(); ++h) {
    const double slope = (*spec.slopes)[h];
    HODO_RETURN_IF_ERROR(check_finite(fmt::format("slopes[{}]", h), slope));
    if (slope < 0 || slope > max_slope) {
      return Error{ErrorKind::bad_input,
                   fmt::format("slopes[{}] is {}: expected 0 to {} (the bias is -slope * distance, "
                               "so that far keys lose)",
                               h, slope, max_slope)};
    }
  }
  return {};
}

std::vector<Action> actions(const Alibi& spec, int64_t) {
  DistanceBias bias;
  bias.slopes = spec.slopes ? *spec.slopes
                            : alibi_slopes(*spec.num_heads, spec.alibi_bias_max, spec.slope_series);
  bias.num_heads = static_cast<int64_t>(bias.slopes.size());
  return {bias};
}

}  // namespace hodometer
