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

TEST(DynamicNtkStepsSchedule, AlphaStepsAtDoublings) {
  const auto base_at = [](int64_t length) {
    const auto w = inv_freq_of(DynamicNtkStepsSchedule{8192}, {1e4, 128}, length);
    return std::pow(w[1], -64.0);
  };
  EXPECT_NEAR(base_at(8192), 10000, 1e-6);
  EXPECT_NEAR(base_at(8193), 30527.74, 0.006);
  EXPECT_EQ(base_at(8193), base_at(16384));
  EXPECT_NEAR(base_at(20000), 72195.86, 0.006);
}

TEST(DynamicNtkStepsSchedule, TheFarthestLengthStillHasAValue) {
  const auto w = inv_freq_of(DynamicNtkStepsSchedule{1}, {1e4, 128}, int64_t{1} << 31);
  EXPECT_GT(w[63], 0);
  EXPECT_LT(w[63], 1e-12);
}

}  // namespace
}  // namespace hodometer
