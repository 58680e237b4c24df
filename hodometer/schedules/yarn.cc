#include <fmt/format.h>

#include <cmath>

#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

namespace {

// A ratio needs both parts; a zero counts as absent, as in the implementation that defines it.
double attention_factor(const YarnSchedule& rule) {
  if (rule.attention_factor) return *rule.attention_factor;
  const double numerator = rule.mscale.value_or(0);
  const double denominator = rule.mscale_all_dim.value_or(0);
  if (numerator == 0 || denominator == 0) return yarn_magnitude(rule.factor, 1);
  return yarn_magnitude(rule.factor, numerator) / yarn_magnitude(rule.factor, denominator);
}

}  // namespace

double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

Status check(const YarnSchedule& rule, const RotaryBand& band) {
  HODO_RETURN_IF_ERROR(check_positive("factor", rule.factor));
  HODO_RETURN_IF_ERROR(check_positive("beta_fast", rule.beta_fast));
  HODO_RETURN_IF_ERROR(check_positive("beta_slow", rule.beta_slow));
  HODO_RETURN_IF_ERROR(check_share("extrapolation_factor", rule.extrapolation_factor));
  if (rule.attention_factor) {
    HODO_RETURN_IF_ERROR(check_positive("attention_factor", *rule.attention_factor));
  }
  HODO_RETURN_IF_ERROR(check_finite("mscale", rule.mscale.value_or(0)));
  HODO_RETURN_IF_ERROR(check_finite("mscale_all_dim", rule.mscale_all_dim.value_or(0)));
  if (const double factor = attention_factor(rule); !std::isfinite(factor) || factor <= 0) {
    return Error{ErrorKind::bad_input,
                 fmt::format("mscale is {} and mscale_all_dim is {}: expected an attention factor "
                             "above 0 of them, and they give {}",
                             rule.mscale.value_or(0), rule.mscale_all_dim.value_or(0), factor)};
  }
  return check_ramp(band, rule.original_max_position_embeddings);
}

Frequencies frequencies(const YarnSchedule& rule, const RotaryBand& band, int64_t) {
  const auto [low, high] =
      ramp_ends(band, static_cast<double>(rule.original_max_position_embeddings), rule.beta_fast,
                rule.beta_slow, rule.truncate ? RampEnds::rounded_outwards : RampEnds::exact);
  const std::vector<Real> keep = keep_ramp(low, high, band.num_pairs());
  Frequencies result{plain_inv_freq(band)};
  for (size_t i = 0; i < keep.size(); ++i) {
    const Real weight = keep[i] * rule.extrapolation_factor;
    Real& w = result.inv_freq[i];
    w = w / rule.factor * (1.0 - weight) + w * weight;
  }
  result.attention_factor = attention_factor(rule);
  return result;
}

}  // namespace hodometer
