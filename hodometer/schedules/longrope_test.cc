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

LongRopeSchedule phi_like() {
  LongRopeSchedule rule;
  for (int i = 0; i < 48; ++i) {
    rule.short_factor.push_back(1 + 0.01 * i);
    rule.long_factor.push_back(1 + i);
  }
  rule.original_max_position_embeddings = 4096;
  rule.max_position_embeddings = 131072;
  return rule;
}

// The list follows the length of the sequence, not what was allocated, and switches at exactly
// the trained length.
TEST(LongRopeSchedule, SwitchesAtTheTrainedLength) {
  const RotaryBand band{1e4, 96};
  const LongRopeSchedule rule = phi_like();
  const auto plain = inv_freq_of(DefaultSchedule{}, band);
  const auto at_trained = inv_freq_of(rule, band, 4096);
  const auto beyond = inv_freq_of(rule, band, 4097);
  for (size_t i = 0; i < plain.size(); ++i) {
    expect_close(at_trained[i], plain[i] / rule.short_factor[i], 1e-14);
    expect_close(beyond[i], plain[i] / rule.long_factor[i], 1e-14);
  }
  EXPECT_EQ(inv_freq_of(rule, band, 10), at_trained);
  EXPECT_EQ(inv_freq_of(rule, band, 131072), beyond);
}

TEST(LongRopeSchedule, Magnitude) {
  const RotaryBand band{1e4, 96};
  LongRopeSchedule rule = phi_like();
  expect_close(magnitude_of(rule, band, 100), 1.1902380714);
  expect_close(magnitude_of(rule, band, 5000), 1.1902380714);
  rule.factor = 4;
  rule.original_max_position_embeddings = 8192;
  expect_close(magnitude_of(rule, band), 1.0741723111);
  rule.attention_factor = 1.5;
  EXPECT_EQ(magnitude_of(rule, band), 1.5);
  rule.short_mscale = 1.243163121016122;
  rule.long_mscale = 1.25;
  EXPECT_EQ(magnitude_of(rule, band, 8192), 1.243163121016122);
  EXPECT_EQ(magnitude_of(rule, band, 8193), 1.25);
  rule = phi_like();
  rule.factor = 0.5;
  EXPECT_EQ(magnitude_of(rule, band), 1.0);
}

TEST(LongRopeSchedule, ListsAreCheckedByName) {
  LongRopeSchedule rule = phi_like();
  EXPECT_EQ(refusal(rule, {1e4, 128}),
            "short_factor has 48 entries: expected 64, one per rotated pair");
  rule.long_factor.pop_back();
  EXPECT_EQ(refusal(rule, {1e4, 96}),
            "long_factor has 47 entries: expected 48, one per rotated pair");
  rule = phi_like();
  rule.long_factor[3] = 0;
  EXPECT_EQ(refusal(rule, {1e4, 96}), "long_factor[3] is 0: expected a finite number above 0");
  rule = phi_like();
  rule.max_position_embeddings.reset();
  EXPECT_EQ(refusal(rule, {1e4, 96}).substr(0, 24), "the magnitude is unknown");
}

// A list chosen by what was allocated: with room for 8192 a prompt of 10 tokens takes the long one.
TEST(LongRopeSchedule, ShortPromptTakesTheShortListWhateverIsAllocated) {
  const RotaryBand band{1e4, 96};
  LongRopeSchedule rule = phi_like();
  const auto at_ten = inv_freq_of(rule, band, 10);
  expect_close(at_ten[47], std::pow(1e4, -94.0 / 96) / rule.short_factor[47], 1e-13);
  rule.max_position_embeddings = 8192;
  EXPECT_EQ(inv_freq_of(rule, band, 10), at_ten);
}

// A prompt of 5000 tokens from position 0 on: its length decides, not the position it begins at.
TEST(LongRopeSchedule, LengthIsNotWhereThePromptBegins) {
  const RotaryBand band{1e4, 96};
  const LongRopeSchedule rule = phi_like();
  const auto w = inv_freq_of(rule, band, 5000);
  expect_close(w[47], std::pow(1e4, -94.0 / 96) / rule.long_factor[47], 1e-13);
}

// Runtimes that keep one of the two lists, or compute a magnitude that the file gives.
TEST(LongRopeSchedule, NeitherListNorMagnitudeIsDropped) {
  const RotaryBand band{1e4, 96};
  LongRopeSchedule rule = phi_like();
  EXPECT_NE(inv_freq_of(rule, band, 4096), inv_freq_of(rule, band, 4097));
  EXPECT_NEAR(magnitude_of(rule, band), 1.190238071, 5e-10);
  rule.attention_factor = 1.0;
  EXPECT_EQ(magnitude_of(rule, band), 1.0);
}

// Both lists in one buffer: 96 factors are two lists of 48 and no list of one head.
TEST(LongRopeSchedule, TwoListsInOneAreRefused) {
  LongRopeSchedule rule = phi_like();
  rule.short_factor.insert(rule.short_factor.end(), rule.long_factor.begin(),
                           rule.long_factor.end());
  EXPECT_EQ(refusal(rule, {1e4, 96}),
            "short_factor has 96 entries: expected 48, one per rotated pair");
}

}  // namespace
}  // namespace hodometer
