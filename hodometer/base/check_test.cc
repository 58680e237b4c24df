#include "hodometer/base/check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hodometer {
namespace {

TEST(Check, NamesTheMemberAndTheValue) {
  EXPECT_TRUE(check_positive("factor", 1.0).ok());
  EXPECT_EQ(check_positive("factor", 0.0).error().message,
            "factor is 0: expected a finite number above 0");
  EXPECT_FALSE(check_positive("factor", -8.0).ok());
  EXPECT_FALSE(check_positive("factor", std::nan("")).ok());
  EXPECT_FALSE(check_positive("factor", INFINITY).ok());
  EXPECT_FALSE(check_finite("center", -INFINITY).ok());
  EXPECT_TRUE(check_finite("center", -3.0).ok());
  EXPECT_EQ(check_at_least("num_heads", 0, 1).error().message,
            "num_heads is 0: expected 1 or more");
  EXPECT_TRUE(check_even("rotary_dim", 0).ok());
  EXPECT_FALSE(check_even("rotary_dim", 3).ok());
  EXPECT_FALSE(check_even("rotary_dim", -2).ok());
}

}  // namespace
}  // namespace hodometer
