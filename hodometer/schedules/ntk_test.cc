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

// The three readings of "NTK-aware" at factor 4, as ratios to the plain frequencies.
TEST(NtkSchedule, VariantsDifferInTheFirstPair) {
  const RotaryBand band{1e4, 128};
  const auto plain = inv_freq_of(DefaultSchedule{}, band);
  const auto base = inv_freq_of(NtkSchedule{4, NtkVariant::scaled_base, {}}, band);
  const auto all = inv_freq_of(NtkSchedule{4, NtkVariant::scaled_all, {}}, band);
  EXPECT_EQ(base[0], 1.0);
  EXPECT_NEAR(base[1] / plain[1], 0.97824, 5e-6);
  EXPECT_NEAR(base[32] / plain[32], 0.49453, 5e-6);
  expect_close(base[63] / plain[63], 0.25, 1e-14);
  EXPECT_NEAR(all[0] / plain[0], 0.97857, 5e-6);
  EXPECT_NEAR(all[32] / plain[32], 0.48929, 5e-6);
  expect_close(all[63] / plain[63], 0.25, 1e-14);
  expect_close(base[63], 2.8869549617e-05);
  expect_close(base[16], 7.0322754786e-02);
}

TEST(NtkSchedule, MixedWeighsEachPair) {
  const RotaryBand band{1e4, 64};
  const auto plain = inv_freq_of(DefaultSchedule{}, band);
  const auto mixed = inv_freq_of(NtkSchedule{8, NtkVariant::mixed, 0.625}, band);
  for (size_t i = 0; i < plain.size(); ++i) {
    const double a = std::log(8.0) / std::pow(32.0, 0.625);
    expect_close(mixed[i], plain[i] * std::exp(-a * std::pow(static_cast<double>(i + 1), 0.625)),
                 1e-13);
  }
  expect_close(mixed[31] / plain[31], 1.0 / 8, 1e-13);
}

// alpha, base and theta are three names for one quantity; users set 93 to reach CodeLlama's 1e6.
TEST(NtkSchedule, AlphaGivesTheBaseThatPeopleQuote) {
  const auto base_of = [](double alpha, double base) {
    const auto w = inv_freq_of(NtkSchedule{alpha, NtkVariant::scaled_base, {}}, {base, 128});
    return std::pow(w[1], -64.0);
  };
  EXPECT_NEAR(base_of(4, 1e4), 40889.942, 1e-3);
  EXPECT_NEAR(base_of(8, 1e4), 82684.623, 1e-3);
  EXPECT_NEAR(base_of(93, 1e4), 999375.526, 1e-3);
  EXPECT_NEAR(base_of(93, 1e6), 9.9938e7, 1e3);
  EXPECT_NEAR(base_of(93.0572, 1e4), 1e6, 1);
  EXPECT_NEAR(base_of(1000, 1e4), 11158839.925, 1e-2);
}

TEST(NtkSchedule, RefusesWhatHasNoValue) {
  EXPECT_EQ(refusal(NtkSchedule{4, NtkVariant::scaled_base, {}}, {1e4, 2}),
            "rotary_dim is 2: NTK-aware scaling needs more, its exponent is d / (d - 2)");
  EXPECT_EQ(refusal(NtkSchedule{4, NtkVariant::mixed, {}}, {1e4, 64}),
            "mixed_b is missing: variant \"mixed\" needs it");
  EXPECT_EQ(refusal(NtkSchedule{4, NtkVariant::scaled_all, 1.0}, {1e4, 64}),
            "mixed_b is given, but only variant \"mixed\" reads it");
}

}  // namespace
}  // namespace hodometer
