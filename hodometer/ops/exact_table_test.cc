#include "hodometer/ops/exact_table.h"

#include <gtest/gtest.h>

#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::far_positions;
using testing::paper_turn;
using testing::plan_of;
using testing::Turn;

TEST(ExactTable, IsRightToDoublePrecisionEverywhere) {
  const Plan plan = plan_of(
      R"({"method":"rotary","head_dim":128,"layout":"half_split","base":500000})", 1,
      AngleMode::float32);
  const auto length = static_cast<int64_t>(far_positions.size());
  const ExactTable table = *exact_table(plan, PositionView::shared_ids(far_positions), length);
  ASSERT_EQ(table.pairs, 64);
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t pair = 0; pair < 64; ++pair) {
      const Turn turn =
          paper_turn(500000, pair, 128, static_cast<double>(far_positions[static_cast<size_t>(i)]));
      const auto at = static_cast<size_t>(i * 64 + pair);
      ASSERT_NEAR(table.cos[at], turn.cos, 3e-16) << i << " " << pair;
      ASSERT_NEAR(table.sin[at], turn.sin, 3e-16) << i << " " << pair;
    }
  }
}

TEST(ExactTable, FollowsTheLengthOfThePlan) {
  const std::string_view dynamic =
      R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"dynamic","factor":2,"original_max_position_embeddings":64}})";
  const ExactTable trained = *exact_table(plan_of(dynamic, 64), PositionView::range(5), 1);
  const ExactTable longer = *exact_table(plan_of(dynamic, 128), PositionView::range(5), 1);
  EXPECT_NE(trained.cos[1], longer.cos[1]);
}

TEST(ExactTable, TakesAxesFractionsAndMagnitude) {
  const Plan plan = plan_of(
      R"({"method":"axial_rotary","head_dim":16,"layout":"half_split","base":100,"axis_layout":"blocks"})");
  const std::vector<double> at{0.25, 1e9 + 0.5};
  const ExactTable table = *exact_table(plan, PositionView::coordinates(at.data(), 2, 1, 1), 1);
  for (int64_t pair = 0; pair < 8; ++pair) {
    const Turn turn = paper_turn(100, pair % 4, 8, at[static_cast<size_t>(pair / 4)]);
    EXPECT_NEAR(table.sin[static_cast<size_t>(pair)], turn.sin, 3e-16);
  }
  const Plan yarn = plan_of(
      R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"yarn","factor":4,"original_max_position_embeddings":32768}})");
  EXPECT_NEAR(exact_table(yarn, PositionView::range(0), 1)->cos[0], 1.1386294361, 1e-10);
}

TEST(ExactTable, RefusesWhatNobodyReads) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})");
  EXPECT_EQ(exact_table(plan, PositionView::range(0), 1 << 24).error().message,
            "exact_table: 16777216 positions of 64 pairs: expected at most 134217728 values");
  EXPECT_FALSE(exact_table(plan, PositionView::range(max_position), 2).ok());
}

}  // namespace
}  // namespace hodometer
