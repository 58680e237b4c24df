#include "hodometer/methods/axial_rotary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

RotatePairs rotation_of(const std::string& axis_layout) {
  return action_of<RotatePairs>(
      R"({"method":"axial_rotary","head_dim":16,"layout":"half_split","base":10000,)" +
      ("\"axis_layout\":\"" + axis_layout) + "\"}");
}

TEST(AxialRotary, AxesAndFrequencies) {
  const auto blocks = rotation_of("blocks");
  const auto pixtral = rotation_of("alternating");
  const auto moon = rotation_of("alternating_per_axis");
  EXPECT_EQ(blocks.axis, (std::vector<uint8_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(pixtral.axis, blocks.axis);
  EXPECT_EQ(moon.axis, (std::vector<uint8_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  for (size_t k = 0; k < 4; ++k) {
    const double own = std::pow(1e4, -static_cast<double>(k) / 4);
    EXPECT_NEAR(blocks.inv_freq[k].to_double(), own, 1e-15);
    EXPECT_NEAR(blocks.inv_freq[k + 4].to_double(), own, 1e-15);
    EXPECT_NEAR(moon.inv_freq[2 * k + 1].to_double(), own, 1e-15);
    EXPECT_NEAR(pixtral.inv_freq[k].to_double(), own, 1e-15);
    EXPECT_NEAR(pixtral.inv_freq[k + 4].to_double(), own * std::pow(1e4, -1.0 / 8), 1e-15);
  }
}

TEST(AxialRotary, PartsAreTwoRotations) {
  const auto list =
      actions(testing::spec_of(R"({"method":"axial_rotary","head_dim":16,"layout":"half_split",
                           "base":100,"axis_layout":"parts"})"),
              1);
  ASSERT_EQ(list->size(), 2u);
  const auto& second = std::get<RotatePairs>(list->at(1));
  EXPECT_EQ(second.rotary_start, 8);
  EXPECT_EQ(second.rotary_dim, 8);
  EXPECT_EQ(second.axis, (std::vector<uint8_t>(4, 1)));
}

TEST(AxialRotary, RefusesWidthsWithoutWholePairs) {
  EXPECT_NE(refusal(R"({"method":"axial_rotary","head_dim":18,"layout":"half_split","base":1e4,
                        "axis_layout":"blocks"})")
                .find("head_dim is 18"),
            std::string::npos);
}

}  // namespace
}  // namespace hodometer
