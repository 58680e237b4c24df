#include <gtest/gtest.h>

#include <cmath>

#include "hodometer/ops/attention_bias-inl.h"
#include "hodometer/ops/testing-inl.h"

namespace hodometer::internal {
namespace {

DistanceBias bias_of(std::string_view text) { return *testing::plan_of(text).distance_bias; }

TEST(DistanceValues, SlopesAtEveryDistance) {
  const DistanceBias bias = bias_of(R"({"method":"alibi","num_heads":8})");
  const DistanceValues values(bias, {});
  for (const int64_t distance : {0, 1, -1, 255, 4096, 1048575, -2047}) {
    EXPECT_EQ(values.at(0, distance), static_cast<float>(-0.5 * std::abs(double(distance))));
    EXPECT_FALSE(std::signbit(values.at(0, 0)));
  }
  std::vector<float> row(300);
  values.descend(2, 140, row);
  for (size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(row[i], values.at(2, 140 - static_cast<int64_t>(i))) << i;
  }
}

TEST(DistanceValues, BucketsAtEveryDistance) {
  for (const std::string_view text :
       {R"({"method":"t5_bias","num_heads":3,"bidirectional":true})",
        R"({"method":"t5_bias","num_heads":3,"bidirectional":false})"}) {
    const DistanceBias bias = bias_of(text);
    std::vector<float> table(static_cast<size_t>(bias.num_buckets() * 3));
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
    const DistanceValues values(bias, table);
    for (int64_t distance = -400; distance <= 400; ++distance) {
      for (int64_t head = 0; head < 3; ++head) {
        EXPECT_EQ(values.at(head, distance), static_cast<float>(bias.bucket(distance) * 3 + head));
      }
    }
    // Slices that lie on the left, over, and on the right of where buckets change.
    for (const int64_t last : {900, 500, 130, 40, 0, -200}) {
      std::vector<float> row(600);
      values.descend(1, last, row);
      for (size_t i = 0; i < row.size(); ++i) {
        ASSERT_EQ(row[i], values.at(1, last - static_cast<int64_t>(i))) << last << ", " << i;
      }
    }
  }
}

TEST(TileBias, RowsOfATableByRunAndByList) {
  const Plan plan = testing::plan_of(R"({"method":"shaw","max_distance":3})");
  const int64_t width = 7, stride = 10, group = 2;
  std::vector<float> scores(6 * stride);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = kQueryFactor * static_cast<float>(i);
  std::vector<int64_t> positions;
  for (int64_t n = 0; n < 20; ++n) positions.push_back(n);
  TileBias bias;
  bias.table = &*plan.query_table_bias;
  bias.table_scores = scores.data();
  bias.table_stride = stride;
  bias.query_positions = {8};
  bias.group = group;
  for (const NumberRow keys : {NumberRow{0}, NumberRow{0, positions.data(), 1}}) {
    bias.key_positions = keys;
    std::vector<float> tile(6 * 20, -1), weights(6 * 20, 0.5f), sums(6 * width, 0);
    TileBias::fill(&bias, {0, 6, 2, 18, tile.data(), 20});
    TileBias::add_weights(&bias, {0, 6, 2, 18, weights.data(), 20, sums.data(), width});
    for (int64_t row = 0; row < 6; ++row) {
      std::vector<float> want(static_cast<size_t>(width), 0);
      for (int64_t n = 0; n < 18; ++n) {
        const int64_t query = 8 + row / group;
        const int64_t at = std::clamp<int64_t>(2 + n - query, -3, 3) + 3;
        EXPECT_FLOAT_EQ(tile[static_cast<size_t>(row * 20 + n)],
                        static_cast<float>(row * stride + at));
        want[static_cast<size_t>(at)] += 0.5f;
      }
      for (int64_t t = 0; t < width; ++t) {
        EXPECT_EQ(sums[static_cast<size_t>(row * width + t)], want[static_cast<size_t>(t)]);
      }
    }
  }
}

TEST(TileBias, HidesWhatAQueryDoesNotSee) {
  const std::vector<SegmentId> segments{SegmentId(1), SegmentId(2), SegmentId(1), SegmentId(2)};
  const MaskedTokens tokens{{0}, SegmentRow{segments.data(), 1}, 4};
  const Mask mask = BidirectionalMask();
  const SeenKeys seen(mask, tokens, tokens);
  TileBias bias;
  bias.seen = &seen;
  bias.query_positions = bias.key_positions = {0};
  std::vector<float> tile(16);
  TileBias::fill(&bias, {0, 4, 0, 4, tile.data(), 4});
  for (size_t i = 0; i < 4; ++i) {
    for (size_t n = 0; n < 4; ++n) {
      EXPECT_EQ(tile[i * 4 + n], i % 2 == n % 2 ? 0.0f : -INFINITY);
    }
  }
}

}  // namespace
}  // namespace hodometer::internal
