#include "hodometer/plan/bias_array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "hodometer/methods/position_spec.h"

namespace hodometer {
namespace {

DistanceBias bias_of(const char* text) {
  return std::get<DistanceBias>(actions(*parse_spec(text), 1)->at(0));
}

// The sign that one public example had the wrong way round: far keys must lose.
TEST(BiasArray, AlibiIsNeverPositiveAndFallsWithDistance) {
  const auto array =
      make_bias_array(bias_of(R"({"method":"alibi","num_heads":12})"), {}, -3000, 131072);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->at(0, 5), -2.5f);
  EXPECT_EQ(array->at(0, -5), -2.5f);
  EXPECT_EQ(array->at(0, 131071), -65535.5f);
  for (int64_t head = 0; head < 12; ++head) {
    EXPECT_EQ(array->at(head, 0), 0.0f);
    EXPECT_FALSE(std::signbit(array->at(head, 0)));
    for (int64_t distance = 1; distance < 131072; distance += 997) {
      EXPECT_LT(array->at(head, distance), array->at(head, distance - 1));
    }
  }
}

TEST(BiasArray, LearnedTableIsReadByBucket) {
  const DistanceBias bias = bias_of(R"({"method":"t5_bias","num_heads":3,"bidirectional":true})");
  std::vector<float> table(32 * 3);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
  const auto array = make_bias_array(bias, table, -200, 200);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->at(2, 0), 0 * 3 + 2);
  EXPECT_EQ(array->at(1, 64), 14 * 3 + 1);   // key left of the query
  EXPECT_EQ(array->at(1, -64), 30 * 3 + 1);  // key right of it
}

TEST(BiasArray, RefusesWhatDoesNotFit) {
  const DistanceBias t5 = bias_of(R"({"method":"t5_bias","num_heads":3,"bidirectional":true})");
  EXPECT_EQ(make_bias_array(t5, {}, 0, 10).error().message,
            "bias array: the learned table has 0 values: expected 96 (32 buckets of 3 heads)");
  const DistanceBias alibi = bias_of(R"({"method":"alibi","num_heads":12})");
  EXPECT_FALSE(make_bias_array(alibi, {}, 1, 0).ok());
  EXPECT_FALSE(make_bias_array(alibi, {}, INT64_MIN, INT64_MAX).ok());
  EXPECT_EQ(make_bias_array(alibi, {}, 0, (int64_t{1} << 32) - 1).error().kind, ErrorKind::limit);
}

// q - k in place of k - q: an example that favoured far tokens.
TEST(BiasArray, FarKeysLoseAndDoNotWin) {
  const auto array = make_bias_array(bias_of(R"({"method":"alibi","num_heads":8})"), {}, 0, 5);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->at(0, 5 - 0), -2.5f);
}

// The form slope * key has the same softmax, but is infinite in half precision far from the start.
TEST(BiasArray, NearKeysHaveSmallBiasesFarFromTheStart) {
  const auto array = make_bias_array(bias_of(R"({"method":"alibi","num_heads":8})"), {}, 0, 131071);
  ASSERT_TRUE(array.ok());
  std::vector<double> weights(6);
  double relative_sum = 0, absolute_sum = 0;
  for (int64_t key = 0; key <= 5; ++key) {
    relative_sum += std::exp(static_cast<double>(array->at(0, 5 - key)));
    absolute_sum += std::exp(0.5 * static_cast<double>(key));
  }
  for (int64_t key = 0; key <= 5; ++key) {
    EXPECT_NEAR(std::exp(static_cast<double>(array->at(0, 5 - key))) / relative_sum,
                std::exp(0.5 * static_cast<double>(key)) / absolute_sum, 1e-15);
  }
  // At query 131071 the same 6 keys have biases of 0 to -2.5, and not of 65535.5.
  EXPECT_EQ(array->at(0, 131071 - 131071), 0.0f);
  EXPECT_EQ(array->at(0, 131071 - 131066), -2.5f);
}

// 32 heads at 32768 tokens: 64 GiB as a matrix of half-precision values.
TEST(BiasArray, IsALineAndNotAMatrix) {
  const DistanceBias bias = bias_of(R"({"method":"alibi","num_heads":32})");
  EXPECT_EQ(bias.slopes.size() * sizeof(float), 128u);
  const auto array = make_bias_array(bias, {}, 0, 32767);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->values.size() * sizeof(float), size_t{4} << 20);
}

TEST(BiasArray, RefusesABiasThatIsNoBias) {
  EXPECT_FALSE(make_bias_array(DistanceBias{}, {}, 0, 0).ok());
  EXPECT_FALSE(make_bias_array(DistanceBias{.num_heads = 1}, {}, 0, 0).ok());
  EXPECT_FALSE(make_bias_array(DistanceBias{.num_heads = 2, .slopes = {0.5}}, {}, 0, 0).ok());
}

}  // namespace
}  // namespace hodometer
