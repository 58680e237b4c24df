#include <gtest/gtest.h>

#include <map>

#include "hodometer/ops/decay-inl.h"
#include "hodometer/ops/testing-inl.h"

namespace hodometer::internal {
namespace {

TEST(Decay, TilesCoverEveryTokenAndPair) {
  for (const int64_t head_dim : {0, 2, 34, 2048, 2050, 9000}) {
    const Plan plan = testing::plan_of(
        R"({"method":"xpos","head_dim":9000,"layout":"interleaved","base":10000,"rotary_dim":)" +
        std::to_string(head_dim) + "}");
    const RotationPlan& rotation = plan.rotations[0];
    const PositionView positions = PositionView::range(300);
    std::map<std::pair<int64_t, int64_t>, float> seen;
    int64_t tokens = 0;
    for_each_decay_tile(rotation, positions, {1, 2, 150, false}, 1.0,
                        [&](const TokenRun& tile, int64_t begin, int64_t pairs, const float* factors) {
                          if (begin == 0) tokens += tile.count;
                          EXPECT_EQ(pair_lanes(rotation, begin).first_lane, 2 * begin);
                          for (int64_t i = 0; i < tile.count; ++i) {
                            for (int64_t j = 0; j < pairs; ++j) {
                              seen[{tile.token + i, begin + j}] = factors[i * pairs + j];
                            }
                          }
                        });
    EXPECT_EQ(tokens, 150);
    EXPECT_EQ(static_cast<int64_t>(seen.size()), 150 * rotation.num_pairs());
    for (const auto& [place, factor] : seen) {
      const double d = static_cast<double>(head_dim);
      const double zeta = (2 * static_cast<double>(place.second) + 0.4 * d) / (1.4 * d);
      ASSERT_NEAR(factor, std::pow(zeta, static_cast<double>(300 + place.first) / 512), 1e-6);
    }
  }
}

TEST(Decay, TheCenterMovesTheRange) {
  const Plan plan = testing::plan_of(
      R"({"method":"xpos","head_dim":8,"layout":"half_split","base":10000,"center":100000})");
  EXPECT_TRUE(check_decay("op", plan, PositionView::range(100000), HeadRole::key, 1, 1000).ok());
  EXPECT_FALSE(check_decay("op", plan, PositionView::range(0), HeadRole::key, 1, 1).ok());
}

}  // namespace
}  // namespace hodometer::internal
