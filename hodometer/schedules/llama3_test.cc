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

TEST(Llama3Schedule, Llama31) {
  const RotaryBand band{5e5, 128};
  const auto plain = inv_freq_of(DefaultSchedule{}, band);
  const auto w = inv_freq_of(Llama3Schedule{8, 1, 4, 8192}, band);
  for (size_t i = 0; i <= 28; ++i) EXPECT_EQ(w[i], plain[i]) << i;
  for (size_t i = 35; i < 64; ++i) expect_close(w[i], plain[i] / 8, 1e-14);
  EXPECT_NEAR(plain[29] / w[29], 1.207484, 5e-7);
  EXPECT_NEAR(plain[30] / w[30], 1.553415, 5e-7);
  EXPECT_NEAR(plain[32] / w[32], 2.69453, 5e-6);
  EXPECT_NEAR(plain[34] / w[34], 5.257327, 5e-7);
  expect_close(w[29], 2.1665707635e-03);
  expect_close(w[63], 3.0689259889e-07);
  // Left out, pair 35 is 8 times too fast: 1.2232 rad in place of 0.1529 at position 1600.
  EXPECT_NEAR(1600 * w[35], 0.1529, 5e-5);
}

TEST(Llama3Schedule, Llama32) {
  const RotaryBand band{5e5, 64};
  const auto plain = inv_freq_of(DefaultSchedule{}, band);
  const auto w = inv_freq_of(Llama3Schedule{32, 1, 4, 8192}, band);
  for (size_t i = 0; i <= 14; ++i) EXPECT_EQ(w[i], plain[i]) << i;
  EXPECT_NEAR(plain[15] / w[15], 1.651329, 5e-7);
  EXPECT_NEAR(plain[16] / w[16], 3.292262, 5e-7);
  EXPECT_NEAR(plain[17] / w[17], 9.666729, 5e-7);
  EXPECT_NEAR(w[18], 1.946164e-05, 5e-12);
}

// Llama 4 Scout ships equal factors: a step, where the blend would divide by zero.
TEST(Llama3Schedule, EqualFactorsMakeAStep) {
  const auto w = inv_freq_of(Llama3Schedule{16, 1, 1, 8192}, {5e5, 128});
  expect_close(w[34], 9.3847387036e-04);
  expect_close(w[35], 4.7781061770e-05);
  expect_close(w[63], 1.5344629945e-07);
}

TEST(Llama3Schedule, RefusesWhatHasNoValue) {
  EXPECT_EQ(refusal(Llama3Schedule{8, 4, 1, 8192}, {5e5, 128}),
            "high_freq_factor is 1: expected at least low_freq_factor, 4");
  EXPECT_EQ(refusal(Llama3Schedule{8, 0, 4, 8192}, {5e5, 128}),
            "low_freq_factor is 0: expected a finite number above 0");
}

// A runtime that reads the base alone: short texts look right, pair 18 drifts by radians.
TEST(Llama3Schedule, LeavingTheScalingOutDriftsByRadians) {
  const RotaryBand band{5e5, 64};
  const auto plain = inv_freq_of(DefaultSchedule{}, band);
  const auto w = inv_freq_of(Llama3Schedule{32, 1, 4, 8192}, band);
  EXPECT_NEAR(plain[18], 6.227724e-04, 5e-11);
  for (size_t i = 18; i < 32; ++i) expect_close(w[i], plain[i] / 32, 1e-14);
  EXPECT_NEAR(8191 * (plain[18] - w[18]), 4.94, 5e-3);
}

// A block that is parsed and never read: a text of 1600 tokens begins to repeat itself.
TEST(Llama3Schedule, BlockThatIsNotReadTurnsSlowPairsTooFar) {
  const RotaryBand band{5e5, 128};
  EXPECT_NEAR(1600 * inv_freq_of(Llama3Schedule{8, 1, 4, 8192}, band)[35], 0.1529, 5e-5);
  EXPECT_NEAR(1600 * inv_freq_of(DefaultSchedule{}, band)[35], 1.2232, 5e-5);
}

// The factors divide the trained length into wavelengths; people read the bands the wrong way
// round.
TEST(Llama3Schedule, HighFrequencyMeansShortWavelength) {
  const RotaryBand band{5e5, 128};
  const auto plain = inv_freq_of(DefaultSchedule{}, band);
  const auto w = inv_freq_of(Llama3Schedule{8, 1, 4, 8192}, band);
  for (size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 2 * M_PI / plain[i];
    if (wavelength < 2048) {
      EXPECT_EQ(w[i], plain[i]) << i;
    } else if (wavelength > 8192) {
      expect_close(w[i], plain[i] / 8, 1e-14);
    } else {
      EXPECT_LT(w[i], plain[i]) << i;
      EXPECT_GT(w[i], plain[i] / 8) << i;
    }
  }
}

}  // namespace
}  // namespace hodometer
