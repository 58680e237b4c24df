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

// The bias travelled in the mask, and a decoding step has none.
TEST(BiasRows, ADecodingStepHasTheBiasOfTheWholeSequence) {
  const Plan plan = plan_of(R"({"method":"alibi","num_heads":8})");
  const Ids keys{0, 1, 2, 3, 4, 5};
  const std::vector<float> whole = *bias_rows(plan, {}, keys, keys);
  const std::vector<float> step = *bias_rows(plan, {}, Ids{5}, keys);
  for (size_t head = 0; head < 8; ++head) {
    for (size_t key = 0; key < 6; ++key) {
      EXPECT_EQ(step[head * 6 + key], whole[head * 36 + 30 + key]);
    }
  }
  EXPECT_EQ(step[0], -2.5f);
  EXPECT_EQ(step[5], 0.0f);
}

// With a cache of keys the learned bias of the decoder was no longer added.
TEST(BiasRows, ADecodingStepReadsTheBucketsOfItsKeys) {
  const Plan plan = plan_of(
      R"({"method":"t5_bias","num_heads":1,"relative_attention_num_buckets":32,
          "relative_attention_max_distance":128,"bidirectional":false})");
  std::vector<float> table(32);
  for (size_t bucket = 0; bucket < 32; ++bucket) table[bucket] = static_cast<float>(bucket);
  const Ids keys{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(*bias_rows(plan, table, Ids{5}, keys), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  const std::vector<float> whole = *bias_rows(plan, table, keys, keys);
  EXPECT_EQ(std::vector<float>(whole.end() - 6, whole.end()),
            (std::vector<float>{5, 4, 3, 2, 1, 0}));
}

}  // namespace
}  // namespace hodometer
