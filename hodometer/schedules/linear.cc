#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

Status check(const LinearSchedule& rule, const RotaryBand&) {
  return check_positive("factor", rule.factor);
}

Frequencies frequencies(const LinearSchedule& rule, const RotaryBand& band, int64_t) {
  Frequencies result{plain_inv_freq(band)};
  for (Real& w : result.inv_freq) w = w / rule.factor;
  return result;
}

}  // namespace hodometer
