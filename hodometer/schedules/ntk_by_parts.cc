#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

Status check(const NtkByPartsSchedule& rule, const RotaryBand& band) {
  HODO_RETURN_IF_ERROR(check_positive("factor", rule.factor));
  HODO_RETURN_IF_ERROR(check_share("ntk_factor", rule.ntk_factor));
  HODO_RETURN_IF_ERROR(check_share("extrapolation_factor", rule.extrapolation_factor));
  HODO_RETURN_IF_ERROR(check_ramp(band, rule.original_max_position_embeddings));
  return check_ntk_width(band);
}

Frequencies frequencies(const NtkByPartsSchedule& rule, const RotaryBand& band, int64_t) {
  // The turns at which each ramp begins and ends, found experimentally by the rule's authors.
  constexpr double linear_to_ntk[] = {1.25, 0.75};
  constexpr double ntk_to_plain[] = {16, 2};
  const double length = static_cast<double>(rule.original_max_position_embeddings);
  const auto ramp = [&](const double(&turns)[2]) {
    const auto [low, high] =
        ramp_ends(band, length, turns[0], turns[1], RampEnds::rounded_outwards);
    return keep_ramp(low, high, band.num_pairs());
  };
  const std::vector<Real> plain = plain_inv_freq(band);
  const std::vector<Real> ntk = inv_freq_of_base(ntk_base(band, rule.factor), band.rotary_dim);
  const std::vector<Real> first = ramp(linear_to_ntk);
  const std::vector<Real> second = ramp(ntk_to_plain);
  Frequencies result;
  for (size_t i = 0; i < plain.size(); ++i) {
    const Real use_ntk = first[i] * rule.ntk_factor;
    const Real use_plain = second[i] * rule.extrapolation_factor;
    const Real mixed = plain[i] / rule.factor * (1.0 - use_ntk) + ntk[i] * use_ntk;
    result.inv_freq.push_back(mixed * (1.0 - use_plain) + plain[i] * use_plain);
  }
  return result;
}

}  // namespace hodometer
