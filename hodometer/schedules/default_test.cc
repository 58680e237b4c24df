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

TEST(DefaultSchedule, EveryPairByAnotherRoute) {
  for (double base : {100.0, 1e4, 5e5, 1e7}) {
    for (int64_t d : {2, 8, 34, 64, 80, 96, 128, 256}) {
      const auto w = inv_freq_of(DefaultSchedule{}, {base, d});
      ASSERT_EQ(w.size(), static_cast<size_t>(d / 2));
      for (size_t i = 0; i < w.size(); ++i) {
        const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(d);
        expect_close(w[i], std::pow(base, -exponent), 1e-14);
      }
    }
  }
}

TEST(DefaultSchedule, PublishedValues) {
  const auto w = inv_freq_of(DefaultSchedule{}, {1e4, 128});
  EXPECT_EQ(w[0], 1.0);
  expect_close(w[1], 8.6596432336e-01);
  expect_close(w[63], 1.1547819847e-04);
  expect_close(inv_freq_of(DefaultSchedule{}, {5e5, 128})[63], 2.4551407911e-06);
}

// A base written into a kernel: 10 rad in place of 1 rad at position 1000.
TEST(DefaultSchedule, TheBaseIsNeverAssumed) {
  expect_close(1000 * inv_freq_of(DefaultSchedule{}, {1e6, 128})[32], 1.0);
  expect_close(1000 * inv_freq_of(DefaultSchedule{}, {1e4, 128})[32], 10.0);
  expect_close(1000 * inv_freq_of(DefaultSchedule{}, {1e3, 128})[32], 31.6227766, 1e-8);
}

TEST(DefaultSchedule, RefusesOddWidthsAndBadBases) {
  EXPECT_EQ(refusal(DefaultSchedule{}, {1e4, 3}),
            "rotary_dim is 3: expected an even number, because lanes turn in pairs");
  EXPECT_EQ(refusal(DefaultSchedule{}, {-1, 4}), "base is -1: expected a finite number above 0");
  EXPECT_EQ(refusal(DefaultSchedule{}, {1e4, 0}), "accepted");
}

}  // namespace
}  // namespace hodometer
