#pragma once

// Private: what the tests of the rules share.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer::testing {

/// The rule's inverse frequencies as doubles, after check() passed.
inline std::vector<double> inv_freq_of(const FrequencySchedule& schedule, const RotaryBand& band,
                                       int64_t context_length = 1) {
  const Status checked = check(schedule, band);
  EXPECT_TRUE(checked.ok()) << (checked.ok() ? "" : checked.error().message);
  std::vector<double> values = {};
  if (!checked.ok()) return values;
  for (const Real& w : frequencies(schedule, band, context_length).inv_freq) {
    values.push_back(w.to_double());
  }
  return values;
}

/// The magnitude that the rule gives.
inline double magnitude_of(const FrequencySchedule& schedule, const RotaryBand& band,
                           int64_t context_length = 1) {
  return frequencies(schedule, band, context_length).attention_factor;
}

/// Within a relative distance: the published digits, or a double computed another way.
inline void expect_close(double got, double want, double relative = 1e-10) {
  EXPECT_NEAR(got, want, relative * std::fabs(want));
}

/// The message of a refused rule.
inline std::string refusal(const FrequencySchedule& schedule, const RotaryBand& band) {
  const Status checked = check(schedule, band);
  return checked.ok() ? "accepted" : checked.error().message;
}

}  // namespace hodometer::testing
