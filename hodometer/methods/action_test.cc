#include "hodometer/methods/action.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

TEST(Action, QueryTableRowClipsBothSides) {
  const QueryTableBias bias{.left = 64, .right = 8};
  EXPECT_EQ(bias.num_rows(), 73);
  EXPECT_EQ(bias.row(0), 64);
  EXPECT_EQ(bias.row(5), 59);      // key 5 to the left
  EXPECT_EQ(bias.row(-5), 69);     // key 5 to the right
  EXPECT_EQ(bias.row(100000), 0);  // clipped
  EXPECT_EQ(bias.row(-100000), 72);
}

TEST(Action, BucketOfADistance) {
  DistanceBias bias;
  bias.bucket_starts = {0, 1, 4};
  EXPECT_EQ(bias.num_buckets(), 3);
  EXPECT_EQ(bias.bucket(3), 1);
  EXPECT_EQ(bias.bucket(4), 2);
  EXPECT_EQ(bias.bucket(1 << 30), 2);
  EXPECT_EQ(bias.bucket(-7), 0);  // keys to the right share bucket 0
  bias.right_bucket_offset = 3;
  EXPECT_EQ(bias.num_buckets(), 6);
  EXPECT_EQ(bias.bucket(-1), 4);
  EXPECT_EQ(bias.bucket(-7), 5);
}

// Fault: the negative of the smallest number, which there is none of.
TEST(Action, DistancesAtTheEndsOfTheNumbers) {
  const QueryTableBias table{.left = 2, .right = 3};
  EXPECT_EQ(table.row(INT64_MIN), 5);
  EXPECT_EQ(table.row(INT64_MAX), 0);
  DistanceBias bias;
  bias.bucket_starts = {0, 1, 4};
  bias.right_bucket_offset = 3;
  EXPECT_EQ(bias.bucket(INT64_MIN), 5);
  EXPECT_EQ(bias.bucket(INT64_MAX), 2);
}

}  // namespace
}  // namespace hodometer
