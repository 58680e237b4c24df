#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

Status check(const DefaultSchedule&, const RotaryBand&) { return {}; }

Frequencies frequencies(const DefaultSchedule&, const RotaryBand& band, int64_t) {
  return {plain_inv_freq(band)};
}

}  // namespace hodometer
