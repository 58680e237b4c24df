#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

Status check(const DynamicNtkSchedule& rule, const RotaryBand& band) {
  HODO_RETURN_IF_ERROR(check_positive("factor", rule.factor));
  HODO_RETURN_IF_ERROR(
      check_at_least("original_max_position_embeddings", rule.original_max_position_embeddings, 1));
  return check_ntk_width(band);
}

Frequencies frequencies(const DynamicNtkSchedule& rule, const RotaryBand& band,
                        int64_t context_length) {
  const int64_t trained = rule.original_max_position_embeddings;
  if (context_length <= trained) return {plain_inv_freq(band)};
  const Real s = rule.factor;
  const Real alpha =
      s * static_cast<double>(context_length) / static_cast<double>(trained) - (s - 1.0);
  return {inv_freq_of_base(ntk_base(band, alpha), band.rotary_dim)};
}

}  // namespace hodometer
