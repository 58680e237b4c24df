#include "hodometer/methods/learned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

// Why 514, why not from 0: the offset is part of the spec, and so is the longest legal input.
TEST(Learned, RowsAreTheLongestInputPlusTheOffset) {
  const auto roberta = action_of<AddRow>(
      R"({"method":"learned","max_position_embeddings":512,"dim":768,"offset":2})");
  EXPECT_EQ(roberta.num_rows, 514);
  EXPECT_EQ(roberta.offset, 2);
  EXPECT_FALSE(roberta.sinusoid.has_value());
  const auto gpt2 =
      action_of<AddRow>(R"({"method":"learned","max_position_embeddings":1024,"dim":768})");
  EXPECT_EQ(gpt2.num_rows, 1024);
  EXPECT_EQ(gpt2.offset, 0);
}

TEST(Learned, RefusesEmptyTables) {
  EXPECT_EQ(refusal(R"({"method":"learned","max_position_embeddings":0,"dim":768})"),
            "spec: max_position_embeddings is 0: expected 1 to 2147483648");
}

}  // namespace
}  // namespace hodometer
