#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

Status check(const NtkSchedule& rule, const RotaryBand& band) {
  HODO_RETURN_IF_ERROR(check_positive("factor", rule.factor));
  if (rule.variant == NtkVariant::mixed) {
    if (!rule.mixed_b) {
      return Error{ErrorKind::bad_input, "mixed_b is missing: variant \"mixed\" needs it"};
    }
    return check_finite("mixed_b", *rule.mixed_b);
  }
  if (rule.mixed_b) {
    return Error{ErrorKind::bad_input, "mixed_b is given, but only variant \"mixed\" reads it"};
  }
  return rule.variant == NtkVariant::scaled_base ? check_ntk_width(band) : Status();
}

Frequencies frequencies(const NtkSchedule& rule, const RotaryBand& band, int64_t) {
  const Real k = rule.factor;
  const double d = static_cast<double>(band.rotary_dim);
  if (rule.variant == NtkVariant::scaled_base) {
    return {inv_freq_of_base(ntk_base(band, k), band.rotary_dim)};
  }
  if (rule.variant == NtkVariant::scaled_all) {
    Frequencies result{inv_freq_of_base(band.base * k, band.rotary_dim)};
    for (Real& w : result.inv_freq) w = w / pow(k, Real(2.0) / d);
    return result;
  }
  Frequencies result{plain_inv_freq(band)};
  const Real a = log(k) / pow(d / 2, *rule.mixed_b);
  for (size_t i = 0; i < result.inv_freq.size(); ++i) {
    result.inv_freq[i] =
        result.inv_freq[i] / exp(a * pow(static_cast<double>(i + 1), *rule.mixed_b));
  }
  return result;
}

}  // namespace hodometer
