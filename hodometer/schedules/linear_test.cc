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

TEST(LinearSchedule, PositionsAdvanceMoreSlowly) {
  const auto w = inv_freq_of(LinearSchedule{4}, {1e4, 128});
  expect_close(w[0], 2.5e-01);
  expect_close(w[31], 2.8869549617e-03);
  expect_close(w[63], 2.8869549617e-05);
  // Position 16383 acts as 4095.75; Gemma 3's global layers at 2915 with factor 8 as 364.375.
  expect_close(16383 * w[0], 4095.75);
  expect_close(2915 * inv_freq_of(LinearSchedule{8}, {1e6, 256})[0], 364.375);
}

TEST(LinearSchedule, FactorIsANumberAboveZero) {
  EXPECT_EQ(inv_freq_of(LinearSchedule{1}, {1e4, 128}), inv_freq_of(DefaultSchedule{}, {1e4, 128}));
  EXPECT_EQ(refusal(LinearSchedule{0}, {1e4, 64}), "factor is 0: expected a finite number above 0");
  EXPECT_EQ(refusal(LinearSchedule{-4}, {1e4, 64}),
            "factor is -4: expected a finite number above 0");
  EXPECT_NE(refusal(LinearSchedule{std::nan("")}, {1e4, 64}), "accepted");
}

}  // namespace
}  // namespace hodometer
