#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

#include <fmt/format.h>

namespace hodometer {

Status check(const Llama3Schedule& rule, const RotaryBand&) {
  HODO_RETURN_IF_ERROR(check_positive("factor", rule.factor));
  HODO_RETURN_IF_ERROR(check_positive("low_freq_factor", rule.low_freq_factor));
  HODO_RETURN_IF_ERROR(check_positive("high_freq_factor", rule.high_freq_factor));
  if (rule.high_freq_factor < rule.low_freq_factor) {
    return Error{ErrorKind::bad_input,
                 fmt::format("high_freq_factor is {}: expected at least low_freq_factor, {}",
                             rule.high_freq_factor, rule.low_freq_factor)};
  }
  return check_at_least("original_max_position_embeddings", rule.original_max_position_embeddings,
                        1);
}

Frequencies frequencies(const Llama3Schedule& rule, const RotaryBand& band, int64_t) {
  const Real low = rule.low_freq_factor;
  const Real high = rule.high_freq_factor;
  Frequencies result{plain_inv_freq(band)};
  for (Real& w : result.inv_freq) {
    const Real turns = static_cast<double>(rule.original_max_position_embeddings) * w / (pi * 2.0);
    if (turns > high) continue;
    if (turns < low) {
      w = w / rule.factor;
    } else if (low < high) {  // equal factors leave no band to blend in
      const Real t = (turns - low) / (high - low);
      w = (1.0 - t) * w / rule.factor + t * w;
    }
  }
  return result;
}

}  // namespace hodometer
