#include <gtest/gtest.h>

#include <cmath>

#include "hodometer/schedules/frequency_schedule.h"
#include "hodometer/schedules/testing-inl.h"

namespace hodometer {
namespace {

using testing::expect_close;
using testing::inv_freq_of;
using testing::magnitude_of;
using testing::refusal;

// Gemma 4: the full head pairs up, the first quarter of the pairs turns, and the exponent's
// denominator stays the full width.
TEST(ProportionalSchedule, Gemma4) {
  const auto w = inv_freq_of(ProportionalSchedule{0.25, 1}, {1e6, 512});
  EXPECT_EQ(w[0], 1.0);
  expect_close(w[1], 9.4746352566e-01);
  expect_close(w[63], 3.3376246943e-02);
  for (size_t i = 64; i < 256; ++i) EXPECT_EQ(w[i], 0.0);
}

TEST(ProportionalSchedule, FactorDividesAndTheShareRoundsDown) {
  const auto w = inv_freq_of(ProportionalSchedule{0.334, 2}, {1e4, 192});
  EXPECT_EQ(w[0], 0.5);
  EXPECT_GT(w[31], 0.0);
  EXPECT_EQ(w[32], 0.0);
  EXPECT_EQ(inv_freq_of(ProportionalSchedule{}, {1e4, 64}),
            inv_freq_of(DefaultSchedule{}, {1e4, 64}));
  EXPECT_EQ(refusal(ProportionalSchedule{1.5, 1}, {1e4, 64}),
            "partial_rotary_factor is 1.5: expected 0 to 1");
}

}  // namespace
}  // namespace hodometer
