#include "hodometer/methods/alibi.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

std::vector<double> slopes_of(const std::string& members) {
  return action_of<DistanceBias>(R"({"method":"alibi",)" + members + "}").slopes;
}

TEST(Alibi, PowersOfTwo) {
  const auto slopes = slopes_of(R"("num_heads":8)");
  ASSERT_EQ(slopes.size(), 8u);
  for (int h = 0; h < 8; ++h) EXPECT_EQ(slopes[static_cast<size_t>(h)], std::exp2(-(h + 1)));
}

// One series over all heads, the exponent h in place of h + 1, a crash at 6 heads.
TEST(Alibi, OtherHeadCountsTakeTwoSeries) {
  const std::vector<double> twelve = {.5,       .25,       .125,    .0625,   .03125,  .015625,
                                      .0078125, .00390625, .707107, .353553, .176777, .0883883};
  const auto got = slopes_of(R"("num_heads":12)");
  for (size_t h = 0; h < 12; ++h) EXPECT_NEAR(got[h], twelve[h], 5e-7) << h;
  EXPECT_EQ(slopes_of(R"("num_heads":6)"),
            (std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125}));
  const auto forty = slopes_of(R"("num_heads":40)");
  EXPECT_EQ(forty[31], 0.00390625);
  EXPECT_NEAR(forty[32], 0.917004, 5e-7);
  EXPECT_NEAR(forty[39], 0.272627, 5e-7);
  const auto many = slopes_of(R"("num_heads":66)");
  EXPECT_NEAR(many[64], 0.957603, 5e-7);
  EXPECT_NEAR(many[65], 0.878126, 5e-7);
}

TEST(Alibi, OneSeriesIsThePapersText) {
  const auto slopes = slopes_of(R"("num_heads":12,"slope_series":"one_series")");
  EXPECT_NEAR(slopes[0], 0.629961, 5e-7);
  EXPECT_NEAR(slopes[1], 0.396850, 5e-7);
  EXPECT_NEAR(slopes[2], 0.25, 1e-15);
}

TEST(Alibi, OtherBiasMaximum) {
  const auto slopes = slopes_of(R"("num_heads":12,"alibi_bias_max":16)");
  EXPECT_EQ(slopes[0], .25);
  EXPECT_NEAR(slopes[7], 1.52588e-5, 5e-11);
  EXPECT_EQ(slopes[8], .5);
  EXPECT_EQ(slopes[11], .0078125);
}

// A rank that computes slopes from its own head count is wrong on every rank but the first.
TEST(Alibi, AShardTakesItsSlopesFromTheWhole) {
  const auto whole = slopes_of(R"("num_heads":16)");
  EXPECT_NEAR(whole[8], 0.044194, 5e-7);
  EXPECT_NEAR(whole[15], 0.003906, 5e-7);
  const auto shard = slopes_of(R"("slopes":[0.0441941738,0.03125])");
  EXPECT_EQ(shard.size(), 2u);
}

TEST(Alibi, AgreesWithBloomAndMpt) {
  const Json cases = testing::golden("hf_bias.json").at("alibi");
  int compared = 0;
  for (const Json& one : cases) {
    if (one["source"] == "falcon") continue;  // rounds its slopes to bfloat16
    const auto got = action_of<DistanceBias>(one["spec"].dump()).slopes;
    ASSERT_EQ(got.size(), one["slopes"].size());
    for (size_t h = 0; h < got.size(); ++h) {
      const double want = one["slopes"][h];
      EXPECT_NEAR(got[h], want, 8e-7 * want) << one["spec"].dump() << " head " << h;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

// One geometric series over all heads: wrong from the first head on.
TEST(Alibi, OneSeriesForTwelveHeadsIsNotTheDefault) {
  const auto slopes = slopes_of(R"("num_heads":12)");
  EXPECT_EQ(slopes[0], 0.5);
  EXPECT_EQ(slopes[7], 1.0 / 256);
  EXPECT_NEAR(slopes[8], 0.707107, 5e-7);
  EXPECT_NEAR(slopes[11], 0.088388, 5e-7);
  EXPECT_NE(slopes, slopes_of(R"("num_heads":12,"slope_series":"one_series")"));
}

// The exponent h in place of h + 1 gives the first head slope 1.
TEST(Alibi, ExponentBeginsAtOne) {
  const auto slopes = slopes_of(R"("num_heads":8)");
  EXPECT_EQ(slopes.front(), 0.5);
  EXPECT_EQ(slopes.back(), 0.00390625);
}

// A slip in the second series crashed at 6 heads.
TEST(Alibi, SixHeadsHaveSixSlopes) {
  EXPECT_EQ(slopes_of(R"("num_heads":6)"),
            (std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125}));
}

// Heads added so that ranks divide evenly: the first 66 keep their slopes, the padding has none.
TEST(Alibi, PaddedHeadsDoNotChangeTheOthers) {
  auto padded = slopes_of(R"("num_heads":66)");
  padded.resize(72, 0.0);
  std::string text;
  for (const double slope : padded) text += Json(slope).dump() + ",";
  text.pop_back();
  const auto got = slopes_of("\"num_heads\":72,\"slopes\":[" + text + "]");
  EXPECT_EQ(got, padded);
  EXPECT_NEAR(got[64], 0.957603, 5e-7);
  EXPECT_NEAR(got[65], 0.878126, 5e-7);
  EXPECT_EQ(got[71], 0.0);
}

// The second of two ranks with 8 of 16 heads, and what it gets from its own head count.
TEST(Alibi, SecondRankDoesNotBeginAnew) {
  const std::vector<double> right = {0.044194, 0.03125,  0.022097, 0.015625,
                                     0.011049, 0.007813, 0.005524, 0.003906};
  const auto whole = slopes_of(R"("num_heads":16)");
  for (size_t h = 0; h < 8; ++h) EXPECT_NEAR(whole[8 + h], right[h], 6e-7) << h;
  EXPECT_EQ(slopes_of(R"("num_heads":8)")[0], 0.5);
}

// Slopes with the sign of the bias would reward what is far.
TEST(Alibi, SlopesBelowZeroAreRefused) {
  EXPECT_EQ(refusal(R"({"method":"alibi","slopes":[0.5,-0.5]})"),
            "spec: slopes[1] is -0.5: expected 0 to 1e+28 (the bias is -slope * distance, so that "
            "far keys "
            "lose)");
  EXPECT_EQ(refusal(R"({"method":"alibi","slopes":[0.5,0]})"), "accepted");
}

}  // namespace
}  // namespace hodometer
