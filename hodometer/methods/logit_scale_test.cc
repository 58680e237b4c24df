#include "hodometer/methods/logit_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

double scale_at(const LogitScaleRule& rule, int64_t position) {
  EXPECT_TRUE(check(rule).ok());
  return logit_scale(rule).at(position);
}

// Two multipliers exist, and people implement one of them or mix their keys up.
TEST(LogitScale, MlaSoftmaxFactor) {
  EXPECT_NEAR(scale_at(YarnSoftmaxScale{40, 0.707}, 0), 1.589626165, 5e-10);
  EXPECT_NEAR(scale_at(YarnSoftmaxScale{40, 1.0}, 7), 1.8738542071, 5e-11);
  EXPECT_NEAR(scale_at(YarnSoftmaxScale{40, 1.0}, 7) / std::sqrt(192.0), 0.1352338, 5e-8);
  EXPECT_EQ(scale_at(YarnSoftmaxScale{1, 1.0}, 7), 1.0);
}

// Llama 4 adds one to the position first, Ministral 3 does not.
TEST(LogitScale, Temperature) {
  const TemperatureScale llama4{0.1, 8192, 1};
  EXPECT_EQ(scale_at(llama4, 8190), 1.0);
  EXPECT_NEAR(scale_at(llama4, 8191), 1.0693147181, 5e-11);
  EXPECT_NEAR(scale_at(llama4, 16383), 1.1098612289, 5e-11);
  EXPECT_NEAR(scale_at(llama4, 1048575), 1.4859812404, 5e-11);
  const TemperatureScale ministral{0.1, 16384, 0};
  EXPECT_EQ(scale_at(ministral, 16383), 1.0);
  EXPECT_NEAR(scale_at(ministral, 16384), 1.0693147181, 5e-11);
  EXPECT_NEAR(scale_at(ministral, 262143), 1.2772588722, 5e-11);
}

TEST(LogitScale, LogN) {
  EXPECT_EQ(scale_at(LogNScale{8192}, 0), 1.0);
  EXPECT_EQ(scale_at(LogNScale{8192}, 8191), 1.0);
  EXPECT_NEAR(scale_at(LogNScale{8192}, 20000), std::log(20001.0) / std::log(8192.0), 1e-15);
}

TEST(LogitScale, RefusesWhatHasNoValue) {
  EXPECT_FALSE(check(LogitScaleRule(ConstantScale{0})).ok());
  EXPECT_FALSE(check(LogitScaleRule(TemperatureScale{0.1, 0, 1})).ok());
  EXPECT_FALSE(check(LogitScaleRule(LogNScale{1})).ok());
  EXPECT_FALSE(check(LogitScaleRule(YarnSoftmaxScale{-1, 1})).ok());
}

// Keys of a cache may be shifted to the left of 0; the factor stays a number.
TEST(LogitScale, NegativePositionsHaveAFactor) {
  const LogitScale temperature = logit_scale(TemperatureScale{.beta = 0.1, .floor_scale = 8192});
  EXPECT_EQ(temperature.at(-1), 1.0);
  EXPECT_EQ(temperature.at(-9000), 1.0);
  const LogitScale log_n = logit_scale(LogNScale{.original_max_position_embeddings = 512});
  EXPECT_EQ(log_n.at(-1), 1.0);
  EXPECT_EQ(log_n.at(-9000), 1.0);
}

}  // namespace
}  // namespace hodometer
