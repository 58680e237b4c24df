#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

#include <fmt/format.h>

#include <cmath>

namespace hodometer {

Status check(const ProportionalSchedule& rule, const RotaryBand&) {
  HODO_RETURN_IF_ERROR(check_positive("factor", rule.factor));
  if (!(rule.partial_rotary_factor >= 0 && rule.partial_rotary_factor <= 1)) {
    return Error{ErrorKind::bad_input, fmt::format("partial_rotary_factor is {}: expected 0 to 1",
                                                   rule.partial_rotary_factor)};
  }
  return {};
}

Frequencies frequencies(const ProportionalSchedule& rule, const RotaryBand& band, int64_t) {
  const double d = static_cast<double>(band.rotary_dim);
  const auto turning = static_cast<size_t>(std::floor(rule.partial_rotary_factor * d / 2));
  Frequencies result{plain_inv_freq(band)};
  for (size_t i = 0; i < result.inv_freq.size(); ++i) {
    result.inv_freq[i] = i < turning ? result.inv_freq[i] / rule.factor : Real(0.0);
  }
  return result;
}

}  // namespace hodometer
