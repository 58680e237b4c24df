#include "hodometer/ops/bias_rows.h"

#include <gtest/gtest.h>

#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::plan_of;
using Ids = std::vector<int64_t>;

TEST(BiasRows, AlibiFallsWithTheDistance) {
  const Plan plan = plan_of(R"({"method":"alibi","num_heads":4})");
  const std::vector<float> rows = *bias_rows(plan, {}, Ids{1048575, 7}, Ids{0, 7, 5});
  ASSERT_EQ(rows.size(), 4u * 2 * 3);
  // Slopes of 4 heads: 1/4, 1/16, 1/64, 1/256.
  for (size_t head = 0; head < 4; ++head) {
    const double slope = std::pow(4.0, -static_cast<double>(head + 1));
    EXPECT_FLOAT_EQ(rows[head * 6 + 0], static_cast<float>(-slope * 1048575));
    EXPECT_FLOAT_EQ(rows[head * 6 + 3], static_cast<float>(-slope * 7));
    EXPECT_EQ(rows[head * 6 + 4], 0.0f);
    EXPECT_FLOAT_EQ(rows[head * 6 + 5], static_cast<float>(-slope * 2));
  }
}

TEST(BiasRows, LearnedBucketsComeFromTheTable) {
  const Plan plan = plan_of(
      R"({"method":"t5_bias","num_heads":2,"relative_attention_num_buckets":32,
          "relative_attention_max_distance":128,"bidirectional":false})");
  std::vector<float> table(64);
  for (size_t i = 0; i < 64; ++i) table[i] = static_cast<float>(i);
  const std::vector<float> rows = *bias_rows(plan, table, Ids{200, 3}, Ids{0, 3});
  EXPECT_EQ(rows, (std::vector<float>{62, 62, 6, 0, 63, 63, 7, 1}));
}

TEST(BiasRows, ErrorsNameWhatIsWrong) {
  const Plan alibi = plan_of(R"({"method":"alibi","num_heads":4})");
  EXPECT_EQ(bias_rows(plan_of(R"({"method":"nope"})"), {}, Ids{0}, Ids{0}).error().message,
            "bias_rows: the method nope adds no bias to scores");
  EXPECT_EQ(bias_rows(alibi, {}, Ids{0}, Ids{0, int64_t{1} << 31}).error().message,
            "bias_rows: key_positions[1] is 2147483648: expected -2147483647 to 2147483647");
  EXPECT_FALSE(bias_rows(alibi, std::vector<float>(3), Ids{0}, Ids{0}).ok());
  EXPECT_FALSE(bias_rows(alibi, {}, Ids(8192, 0), Ids(8192, 0)).ok());
  EXPECT_TRUE(bias_rows(alibi, {}, {}, Ids{0})->empty());
}

}  // namespace
}  // namespace hodometer
