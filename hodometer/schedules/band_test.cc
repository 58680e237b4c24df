#include <gtest/gtest.h>

#include <cmath>

#include "hodometer/schedules/band.h"
#include "hodometer/schedules/testing-inl.h"

namespace hodometer {
namespace {

using testing::expect_close;
using testing::inv_freq_of;
using testing::magnitude_of;
using testing::refusal;

TEST(Band, PairWithTurnsInvertsTheTurnsOfAPair) {
  const RotaryBand band{1e4, 128};
  for (double turns : {1.0, 32.0, 0.75}) {
    const double pair = pair_with_turns(band, 4096.0, turns).to_double();
    const double inv_freq = std::pow(1e4, -2 * pair / 128);
    expect_close(4096 * inv_freq / (2 * M_PI), turns, 1e-12);
  }
}

// Lengths squeezed through 16 bits once moved this bound from 35.3 to 29.7.
TEST(Band, LongLengthsAreNotNarrowed) {
  EXPECT_NEAR(pair_with_turns({1e4, 64}, 163840.0, 1.0).to_double(), 35.32992, 5e-6);
}

TEST(Band, RampEndsRoundOutwardsAndClamp) {
  const auto ends = [](double length, int64_t d, RampEnds how) {
    const auto [low, high] = ramp_ends({1e4, d}, length, 32.0, 1.0, how);
    return std::pair{low.to_double(), high.to_double()};
  };
  EXPECT_EQ(ends(131072, 128, RampEnds::rounded_outwards), std::pair(45.0, 70.0));
  EXPECT_EQ(ends(131072, 64, RampEnds::rounded_outwards), std::pair(22.0, 35.0));
  EXPECT_NEAR(ends(131072, 128, RampEnds::exact).second, 69.1093, 5e-5);
  EXPECT_NEAR(ends(131072, 64, RampEnds::exact).second, 34.5546, 5e-5);
  EXPECT_EQ(ends(1, 128, RampEnds::rounded_outwards).first, 0.0);
  EXPECT_EQ(ends(1e300, 8, RampEnds::rounded_outwards).second, 7.0);
}

TEST(Band, EqualEndsAreAStepAndReversedEndsAReversedRamp) {
  const auto keep = keep_ramp(3.0, 3.0, 6);
  EXPECT_EQ(keep[3].to_double(), 1.0);
  EXPECT_EQ(keep[4].to_double(), 0.0);
  const auto reversed = keep_ramp(4.0, 2.0, 6);
  EXPECT_EQ(reversed[0].to_double(), 0.0);
  EXPECT_EQ(reversed[3].to_double(), 0.5);
  EXPECT_EQ(reversed[5].to_double(), 1.0);
}

}  // namespace
}  // namespace hodometer
