#include "hodometer/methods/shaw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

TEST(Shaw, OneLimitOrTwo) {
  const auto both = action_of<QueryTableBias>(R"({"method":"shaw","max_distance":16})");
  EXPECT_EQ(both.num_rows(), 33);
  EXPECT_FALSE(both.adds_to_values);
  const auto bert = action_of<QueryTableBias>(
      R"({"method":"shaw","left_max_position_embeddings":64,
          "right_max_position_embeddings":8,"values":true})");
  EXPECT_EQ(bert.left, 64);
  EXPECT_EQ(bert.right, 8);
  EXPECT_TRUE(bert.adds_to_values);
}

TEST(Shaw, RefusesHalfALimit) {
  EXPECT_NE(refusal(R"({"method":"shaw","left_max_position_embeddings":64})"), "accepted");
  EXPECT_NE(refusal(R"({"method":"shaw","max_distance":1,"left_max_position_embeddings":64,
                        "right_max_position_embeddings":8})"),
            "accepted");
  EXPECT_EQ(refusal(R"({"method":"shaw","max_distance":-1})"),
            "spec: max_distance is -1: expected 0 or more");
}

}  // namespace
}  // namespace hodometer
