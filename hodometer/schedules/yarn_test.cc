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

TEST(YarnSchedule, PublishedModels) {
  const RotaryBand qwen{1e6, 128};
  const YarnSchedule qwen_rule{.factor = 4, .original_max_position_embeddings = 32768};
  auto w = inv_freq_of(qwen_rule, qwen);
  EXPECT_EQ(w[0], 1.0);
  expect_close(w[23], 6.9783058486e-03);
  expect_close(w[24], 5.3753214908e-03);
  expect_close(w[39], 6.4903943208e-05);
  expect_close(w[63], 3.1023444019e-07);
  expect_close(magnitude_of(qwen_rule, qwen), 1.1386294361);

  w = inv_freq_of(YarnSchedule{.factor = 40,
                               .original_max_position_embeddings = 4096,
                               .mscale = 1.0,
                               .mscale_all_dim = 1.0},
                  {1e4, 64});
  expect_close(w[10], 5.6234132519e-02);
  expect_close(w[16], 5.5000000000e-03);
  expect_close(w[31], 3.3338035804e-06);

  // Kimi K2: equal betas make the ramp one pair wide.
  w = inv_freq_of(
      YarnSchedule{
          .factor = 32, .original_max_position_embeddings = 4096, .beta_fast = 1, .beta_slow = 1},
      {5e4, 64});
  expect_close(w[19], 1.6217599081e-03);
  expect_close(w[20], 3.6140467736e-05);

  const YarnSchedule devstral{
      .factor = 64, .original_max_position_embeddings = 4096, .beta_fast = 4};
  w = inv_freq_of(devstral, {1e6, 128});
  expect_close(w[24], 4.9314698244e-03);
  expect_close(w[27], 1.4943536442e-03);
  expect_close(w[63], 1.9389652512e-08);
  expect_close(magnitude_of(devstral, {1e6, 128}), 1.4158883083);
}

// gpt-oss does not round the ramp's ends; a reader that drops the key is 43 % off at pair 17.
TEST(YarnSchedule, TruncateFalseKeepsTheRampWhereItIs) {
  const RotaryBand band{150000, 64};
  YarnSchedule rule{.factor = 32, .original_max_position_embeddings = 4096, .truncate = false};
  auto w = inv_freq_of(rule, band);
  expect_close(w[8], 5.0813274815e-02);
  expect_close(w[9], 3.1705696185e-02);
  expect_close(w[17], 1.2931870125e-04);
  expect_close(w[31], 3.0235114281e-07);
  expect_close(magnitude_of(rule, band), 1.3465735903);
  rule.truncate = true;
  w = inv_freq_of(rule, band);
  EXPECT_NEAR(w[9], .0316208, 5e-8);
  EXPECT_NEAR(w[17], 2.27948e-4, 5e-10);
}

// The upper end is clamped to d-1, not to d/2-1: the difference is 46 % in the last pair.
TEST(YarnSchedule, UpperEndIsClampedToTheWidth) {
  const auto w = inv_freq_of(YarnSchedule{.factor = 4, .original_max_position_embeddings = 131072},
                             {1e4, 128});
  EXPECT_NEAR(w[63], 5.311997e-05, 5e-12);
}

// The factor belongs to the frequency, not into the base before the power.
TEST(YarnSchedule, InterpolatedPairsAreDividedByTheFactor) {
  YarnSchedule rule{.factor = 4, .original_max_position_embeddings = 32768};
  rule.extrapolation_factor = 0;
  const auto w = inv_freq_of(rule, {1e6, 128});
  expect_close(w[0], 0.25);
  expect_close(w[32], 2.5e-4);
  EXPECT_NEAR(w[63], 3.102344e-07, 5e-14);
}

// Explicit beats the ratio, the ratio needs both parts, and 1.0 is not "unset".
TEST(YarnSchedule, MagnitudeHasOnePrecedence) {
  const RotaryBand band{1e4, 64};
  const auto magnitude = [&](std::optional<double> explicit_one, std::optional<double> mscale,
                             std::optional<double> mscale_all_dim, double factor = 40) {
    YarnSchedule rule{.factor = factor, .original_max_position_embeddings = 4096};
    rule.attention_factor = explicit_one;
    rule.mscale = mscale;
    rule.mscale_all_dim = mscale_all_dim;
    return magnitude_of(rule, band);
  };
  EXPECT_EQ(magnitude({}, 1.0, 1.0), 1.0);
  EXPECT_EQ(magnitude({}, .707, .707), 1.0);
  EXPECT_NEAR(magnitude({}, .707, 0.0), 1.368888, 5e-7);
  EXPECT_NEAR(magnitude({}, .707, {}), 1.368888, 5e-7);
  EXPECT_NEAR(magnitude({}, {}, 1.0), 1.368888, 5e-7);
  EXPECT_EQ(magnitude(1.0, {}, {}, 4), 1.0);
  EXPECT_NEAR(magnitude({}, {}, {}, 4), 1.138629436, 5e-10);
  EXPECT_EQ(magnitude({}, {}, {}, 1), 1.0);
  EXPECT_EQ(magnitude({}, {}, {}, 0.5), 1.0);
  EXPECT_NEAR(magnitude({}, 1.0, 1.0, 16), 1.0, 1e-15);
}

TEST(YarnSchedule, RefusesWhatHasNoValue) {
  EXPECT_EQ(refusal(YarnSchedule{.factor = 4, .original_max_position_embeddings = -1}, {1e4, 64}),
            "original_max_position_embeddings is -1: expected 1 or more");
  EXPECT_EQ(
      refusal(YarnSchedule{.factor = 4, .original_max_position_embeddings = 8, .beta_fast = 0},
              {1e4, 64}),
      "beta_fast is 0: expected a finite number above 0");
  EXPECT_EQ(refusal(
                YarnSchedule{
                    .factor = 4, .original_max_position_embeddings = 8, .extrapolation_factor = 64},
                {1e4, 64}),
            "extrapolation_factor is 64: expected 0 to 1");
  EXPECT_EQ(refusal(YarnSchedule{.factor = 4, .original_max_position_embeddings = 8}, {1, 64}),
            "base is 1: expected more than 1, the ramp divides by its logarithm");
}

// A factor below 0 turns every head around, 0 wipes it out, and infinity makes NaN: all at
// position 0 too.
TEST(YarnSchedule, WeightsThatGiveNoMagnitudeAreRefused) {
  const RotaryBand band{1e4, 64};
  const double zero = -1 / (0.1 * std::log(64.0));
  YarnSchedule rule{.factor = 64, .original_max_position_embeddings = 4096};
  rule.mscale_all_dim = 1;
  rule.mscale = -10;
  EXPECT_EQ(refusal(rule, band).substr(0, 98),
            "mscale is -10 and mscale_all_dim is 1: expected an attention factor above 0 of them, "
            "and they give");
  rule.mscale = zero - 1e-9;
  EXPECT_NE(refusal(rule, band), "accepted");
  std::swap(rule.mscale, rule.mscale_all_dim);
  EXPECT_NE(refusal(rule, band), "accepted");
  rule.attention_factor = 1;
  EXPECT_EQ(refusal(rule, band), "accepted");
}

// Two equal weights cancel; the formula with one of them gives 1.277, which a file that wants it
// has to say.
TEST(YarnSchedule, EqualWeightsCancelUnlessTheMagnitudeIsGiven) {
  const RotaryBand band{1e4, 64};
  YarnSchedule rule{.factor = 16, .original_max_position_embeddings = 4096};
  rule.mscale = 1.0;
  rule.mscale_all_dim = 1.0;
  EXPECT_EQ(magnitude_of(rule, band), 1.0);
  EXPECT_NEAR(yarn_magnitude(16, 1.0), 1.2772589, 5e-8);
  EXPECT_NEAR(std::pow(yarn_magnitude(16, 1.0), 2), 1.6313902, 5e-8);
  rule.attention_factor = 1.2772588722239781;
  EXPECT_EQ(magnitude_of(rule, band), 1.2772588722239781);
}

// A file that switches the magnitude off: 1.0 must not be taken for a missing value.
TEST(YarnSchedule, GivenMagnitudeOfOneIsNotComputedAnew) {
  const RotaryBand band{1e6, 128};
  YarnSchedule rule{.factor = 4, .original_max_position_embeddings = 32768};
  EXPECT_NEAR(magnitude_of(rule, band), 1.138629436, 5e-10);
  EXPECT_NEAR(std::pow(magnitude_of(rule, band), 2), 1.296476993, 1e-9);
  rule.attention_factor = 1.0;
  EXPECT_EQ(magnitude_of(rule, band), 1.0);
}

// The length of the file is not the divisor: 40960 / 32768 would make factor 4 a factor of 1.25.
TEST(YarnSchedule, FactorIsNotTheRatioOfTheLengths) {
  const YarnSchedule rule{.factor = 4, .original_max_position_embeddings = 32768};
  EXPECT_NEAR(magnitude_of(rule, {1e6, 128}), 1.138629436, 5e-10);
  EXPECT_NEAR(yarn_magnitude(1.25, 1.0), 1.022314355, 5e-10);
  expect_close(inv_freq_of(rule, {1e6, 128})[63], std::pow(1e6, -126.0 / 128) / 4, 1e-12);
}

// The same extension by three rules: what people set for 4096 to 16384.
TEST(YarnSchedule, AgreesWithTheOtherRulesOnTheSameExtension) {
  const RotaryBand band{1e4, 128};
  const auto linear = inv_freq_of(LinearSchedule{4}, band);
  const auto ntk = inv_freq_of(NtkSchedule{4, NtkVariant::scaled_base, {}}, band);
  const YarnSchedule rule{.factor = 4, .original_max_position_embeddings = 4096};
  const auto yarn = inv_freq_of(rule, band);
  EXPECT_EQ(linear[0], 0.25);
  EXPECT_NEAR(std::pow(ntk[1], -64.0), 40889.94, 5e-3);
  EXPECT_NEAR(magnitude_of(rule, band), 1.138629436, 5e-10);
  expect_close(ntk[63], linear[63], 1e-13);
  expect_close(yarn[63], linear[63], 1e-13);
  EXPECT_EQ(yarn[0], ntk[0]);
}

}  // namespace
}  // namespace hodometer
