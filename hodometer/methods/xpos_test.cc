#include "hodometer/methods/xpos.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

// zeta_i = (2i + 0.4 d) / (1.4 d): from 2/7 for the fastest pair towards 1.
TEST(Xpos, DecayPerPair) {
  const auto rotation = action_of<RotatePairs>(
      R"({"method":"xpos","head_dim":64,"layout":"interleaved","base":10000})");
  ASSERT_TRUE(rotation.decay.has_value());
  EXPECT_EQ(rotation.decay->scale_base, 512);
  EXPECT_NEAR(std::exp(rotation.decay->log_zeta[0]), 2.0 / 7, 1e-15);
  EXPECT_NEAR(std::exp(rotation.decay->log_zeta[31]), (62 + 25.6) / 89.6, 1e-15);
  EXPECT_EQ(rotation.inv_freq.size(), 32u);
}

TEST(Xpos, RefusesWhatHasNoValue) {
  EXPECT_NE(refusal(R"({"method":"xpos","head_dim":64,"layout":"interleaved","base":1e4,
                        "scale_base":0})"),
            "accepted");
}

TEST(Xpos, NothingThatTurnsNothingThatDecays) {
  const auto rotation = action_of<RotatePairs>(
      R"({"method":"xpos","head_dim":4,"rotary_dim":0,"layout":"half_split","base":10000})");
  EXPECT_FALSE(rotation.decay.has_value());
}

}  // namespace
}  // namespace hodometer
