// The gradients themselves are compared with differences in attention_backward_test.cc.

#include <gtest/gtest.h>

#include "hodometer/ops/learned_gradients-inl.h"

namespace hodometer::internal {
namespace {

TEST(LearnedGradients, BucketsOfAllDistances) {
  DistanceBias bias;
  bias.num_heads = 2;
  bias.bucket_starts = {0, 1, 2, 3, 5, 9};
  for (const int64_t right : {0, 6}) {
    bias.right_bucket_offset = right;
    const BucketPlaces places(bias);
    for (const int64_t distance : {-1000, -10, -9, -8, -1, 0, 1, 4, 5, 8, 9, 10, 100000}) {
      EXPECT_EQ(places.bucket(distance), bias.bucket(distance)) << distance;
    }
  }
}

TEST(LearnedGradients, SumsAddWhereTheyAreWanted) {
  LearnedSums sums{{1, 2}, {}, {3}};
  sums.add({{10, 20}, {}, {30}});
  EXPECT_EQ(sums.buckets, (std::vector<double>{11, 22}));
  EXPECT_TRUE(sums.key_rows.empty());
  EXPECT_EQ(sums.value_rows, std::vector<double>{33});
  EXPECT_EQ(sums.size(), 3u);
}

}  // namespace
}  // namespace hodometer::internal
