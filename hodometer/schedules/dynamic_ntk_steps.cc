#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

Status check(const DynamicNtkStepsSchedule& rule, const RotaryBand& band) {
  HODO_RETURN_IF_ERROR(
      check_at_least("original_max_position_embeddings", rule.original_max_position_embeddings, 1));
  return check_ntk_width(band);
}

Frequencies frequencies(const DynamicNtkStepsSchedule& rule, const RotaryBand& band,
                        int64_t context_length) {
  // alpha = max(2^ceil(log2(length / trained) + 1) - 1, 1), with the logarithm of whole doublings
  // taken in integers.
  const int64_t trained = rule.original_max_position_embeddings;
  int doublings = 0;
  for (int64_t reach = trained; reach < context_length; reach *= 2) ++doublings;
  if (doublings == 0) return {plain_inv_freq(band)};
  Real alpha = 1.0;
  for (int i = 0; i <= doublings; ++i) alpha = alpha * 2.0;
  return {inv_freq_of_base(ntk_base(band, alpha - 1.0), band.rotary_dim)};
}

}  // namespace hodometer
