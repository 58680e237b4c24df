#include "hodometer/base/check.h"
#include "hodometer/schedules/band.h"
#include "hodometer/schedules/frequency_schedule.h"

#include <fmt/format.h>

#include <cmath>

namespace hodometer {

namespace {

Status check_list(std::string_view name, const std::vector<double>& list, int64_t num_pairs) {
  if (static_cast<int64_t>(list.size()) != num_pairs) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} has {} entries: expected {}, one per rotated pair", name,
                             list.size(), num_pairs)};
  }
  for (size_t i = 0; i < list.size(); ++i) {
    HODO_RETURN_IF_ERROR(check_positive(fmt::format("{}[{}]", name, i), list[i]));
  }
  return {};
}

}  // namespace

Status check(const LongRopeSchedule& rule, const RotaryBand& band) {
  HODO_RETURN_IF_ERROR(check_list("short_factor", rule.short_factor, band.num_pairs()));
  HODO_RETURN_IF_ERROR(check_list("long_factor", rule.long_factor, band.num_pairs()));
  HODO_RETURN_IF_ERROR(
      check_at_least("original_max_position_embeddings", rule.original_max_position_embeddings, 2));
  HODO_RETURN_IF_ERROR(check_positive("factor", rule.factor.value_or(1)));
  HODO_RETURN_IF_ERROR(check_positive("attention_factor", rule.attention_factor.value_or(1)));
  HODO_RETURN_IF_ERROR(check_positive("short_mscale", rule.short_mscale.value_or(1)));
  HODO_RETURN_IF_ERROR(check_positive("long_mscale", rule.long_mscale.value_or(1)));
  HODO_RETURN_IF_ERROR(
      check_at_least("max_position_embeddings", rule.max_position_embeddings.value_or(1), 1));
  const bool both_mscales = rule.short_mscale && rule.long_mscale;
  if (!rule.attention_factor && !rule.factor && !rule.max_position_embeddings && !both_mscales) {
    return Error{ErrorKind::bad_input,
                 "the magnitude is unknown: expected factor, max_position_embeddings, "
                 "attention_factor, or short_mscale and long_mscale"};
  }
  return {};
}

Frequencies frequencies(const LongRopeSchedule& rule, const RotaryBand& band,
                        int64_t context_length) {
  const bool beyond = context_length > rule.original_max_position_embeddings;
  const std::vector<double>& divisor = beyond ? rule.long_factor : rule.short_factor;
  Frequencies result{plain_inv_freq(band)};
  for (size_t i = 0; i < divisor.size(); ++i) result.inv_freq[i] = result.inv_freq[i] / divisor[i];

  const double trained = static_cast<double>(rule.original_max_position_embeddings);
  const double extension =
      rule.factor.value_or(static_cast<double>(rule.max_position_embeddings.value_or(0)) / trained);
  const double computed =
      extension <= 1 ? 1.0 : std::sqrt(1.0 + std::log(extension) / std::log(trained));
  const std::optional<double>& of_length = beyond ? rule.long_mscale : rule.short_mscale;
  result.attention_factor = of_length.value_or(rule.attention_factor.value_or(computed));
  return result;
}

}  // namespace hodometer
