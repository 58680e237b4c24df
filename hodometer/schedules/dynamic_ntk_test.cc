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

double base_at(double factor, int64_t trained, int64_t length, double base = 1e4) {
  const auto w = inv_freq_of(DynamicNtkSchedule{factor, trained}, {base, 128}, length);
  return std::pow(w[1], -64.0);
}

TEST(DynamicNtkSchedule, BaseGrowsWithTheLength) {
  const struct {
    double factor;
    int64_t length;
    double base;
  } published[] = {{2, 4097, 10004.96},   {2, 8192, 30527.74},   {2, 16384, 72195.86},
                   {2, 32768, 156588.32}, {4, 4097, 10009.92},   {4, 8192, 51293.79},
                   {4, 16384, 135401.97}, {4, 32768, 305921.97}, {8, 4097, 10019.84},
                   {8, 8192, 93194.27},   {8, 16384, 263105.26}, {8, 32768, 607779.27}};
  for (const auto& one : published) {
    EXPECT_NEAR(base_at(one.factor, 4096, one.length), one.base, 0.006) << one.length;
  }
  const auto w = inv_freq_of(DynamicNtkSchedule{2, 4096}, {1e4, 128}, 16384);
  expect_close(w[1], 8.3962574256e-01);
  expect_close(w[63], 1.6496885496e-05);
}

// Tables that grew and never shrank; a table fixed at the largest length; positions divided too.
TEST(DynamicNtkSchedule, NothingChangesUpToTheTrainedLength) {
  const auto plain = inv_freq_of(DefaultSchedule{}, {1e4, 128});
  for (int64_t length : {1, 100, 4095, 4096}) {
    EXPECT_EQ(inv_freq_of(DynamicNtkSchedule{2, 4096}, {1e4, 128}, length), plain);
  }
  EXPECT_NE(inv_freq_of(DynamicNtkSchedule{2, 4096}, {1e4, 128}, 4097), plain);
  EXPECT_NEAR(base_at(2, 2048, 4096), 30527.7367, 1e-3);
  EXPECT_NEAR(base_at(6, 32768, 65536, 5e7), 360979300.43, 1);
}

TEST(DynamicNtkSchedule, RefusesWhatHasNoValue) {
  EXPECT_EQ(refusal(DynamicNtkSchedule{2, 0}, {1e4, 64}),
            "original_max_position_embeddings is 0: expected 1 or more");
  EXPECT_EQ(refusal(DynamicNtkSchedule{0, 4096}, {1e4, 64}),
            "factor is 0: expected a finite number above 0");
}

// A table computed once for the largest length turns short inputs by the base of the long ones.
TEST(DynamicNtkSchedule, ShortInputsDoNotTakeTheBaseOfTheLargestLength) {
  EXPECT_NEAR(base_at(4, 4096, 16384), 135401.973, 1e-3);
  EXPECT_NEAR(base_at(4, 4096, 100), 10000, 1e-8);
}

// A fallback that doubled every position when the type was dynamic.
TEST(DynamicNtkSchedule, PositionsAreNotMultiplied) {
  const DynamicNtkSchedule rule{6, 32768};
  for (int64_t length : {1, 32768, 65536}) {
    EXPECT_EQ(inv_freq_of(rule, {5e7, 128}, length)[0], 1.0) << length;
  }
  EXPECT_NEAR(base_at(6, 32768, 32768, 5e7), 5e7, 1e-4);
  EXPECT_NEAR(base_at(6, 32768, 65536, 5e7), 360979300.43, 5e-3);
}

// The factor belongs into the base; dividing the positions by it too spoils every length.
TEST(DynamicNtkSchedule, PositionsAreNotDividedByTheFactorToo) {
  const auto w = inv_freq_of(DynamicNtkSchedule{2, 2048}, {1e4, 128}, 4096);
  EXPECT_EQ(w[0], 1.0);
  EXPECT_NEAR(std::pow(w[1], -64.0), 30527.7367, 5e-5);
  EXPECT_NEAR(std::pow(w[63], -64.0 / 63), 30527.7367, 5e-5);
}

}  // namespace
}  // namespace hodometer
