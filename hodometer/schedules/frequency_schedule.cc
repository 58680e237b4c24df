#include "hodometer/schedules/frequency_schedule.h"

#include "hodometer/base/check.h"

namespace hodometer {

Status check(const FrequencySchedule& schedule, const RotaryBand& band) {
  HODO_RETURN_IF_ERROR(check_positive("base", band.base));
  HODO_RETURN_IF_ERROR(check_even("rotary_dim", band.rotary_dim));
  return std::visit([&](const auto& rule) { return check(rule, band); }, schedule);
}

Frequencies frequencies(const FrequencySchedule& schedule, const RotaryBand& band,
                        int64_t context_length) {
  return std::visit([&](const auto& rule) { return frequencies(rule, band, context_length); },
                    schedule);
}

std::optional<int64_t> changes_beyond(const FrequencySchedule& schedule) {
  return std::visit(
      [](const auto& rule) -> std::optional<int64_t> {
        if constexpr (requires { rule.changes_beyond(); }) return rule.changes_beyond();
        return std::nullopt;
      },
      schedule);
}

}  // namespace hodometer
