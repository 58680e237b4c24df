#include "hodometer/methods/t5_bias.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

DistanceBias bias_of(int64_t buckets, int64_t max_distance, bool bidirectional) {
  return action_of<DistanceBias>(
      fmt::format(R"({{"method":"t5_bias","num_heads":8,"relative_attention_num_buckets":{},)"
                  R"("relative_attention_max_distance":{},"bidirectional":{}}})",
                  buckets, max_distance, bidirectional));
}

// Every distance from -3000 to 3000, for 16 settings, as Hugging Face buckets them.
TEST(T5Bias, AgreesWithHuggingFaceAtEveryDistance) {
  const Json cases = testing::golden("hf_bias.json").at("t5");
  ASSERT_GE(cases.size(), 16u);
  for (const Json& one : cases) {
    const auto bias = action_of<DistanceBias>(one["spec"].dump());
    const Json& runs = one["runs"];
    size_t run = 0;
    for (int64_t relative = -3000; relative <= 3000; ++relative) {
      if (run + 1 < runs.size() && runs[run + 1][0] == relative) ++run;
      ASSERT_EQ(bias.bucket(-relative), runs[run][1].get<int64_t>())
          << one["spec"].dump() << " key - query " << relative;
    }
  }
}

// The definition in integers: bucket exact + j from the distance at which n^m e^j >= M^j e^m.
TEST(T5Bias, BoundariesAreExactInIntegers) {
  const auto bias = bias_of(32, 128, true);
  for (int64_t n : {8, 16, 32, 64}) {
    EXPECT_EQ(bias.bucket(n), bias.bucket(n - 1) + 1) << n;  // (n/8)^8 = 16^j exactly
  }
  const auto causal = bias_of(32, 128, false);
  EXPECT_EQ(causal.bucket(16), 16);
  EXPECT_EQ(causal.bucket(18), 16);
  EXPECT_EQ(causal.bucket(19), 17);
  EXPECT_EQ(causal.bucket(21), 18);
}

// Truncation, not rounding; and offsets that bfloat16 logarithms flip.
TEST(T5Bias, PublishedBuckets) {
  const auto encoder = bias_of(32, 128, true);
  const int64_t right[][2] = {{7, 23},  {8, 24},  {11, 24}, {12, 25}, {16, 26},
                              {23, 27}, {32, 28}, {64, 30}, {91, 31}};
  for (const auto& [distance, bucket] : right) EXPECT_EQ(encoder.bucket(-distance), bucket);
  EXPECT_EQ(encoder.bucket(45), 12);
  EXPECT_EQ(encoder.bucket(90), 14);
  const auto decoder = bias_of(32, 128, false);
  EXPECT_EQ(decoder.bucket(76), 27);
  EXPECT_EQ(decoder.bucket(112), 30);
  for (int64_t key = 0; key <= 5; ++key) EXPECT_EQ(decoder.bucket(5 - key), 5 - key);
  // A table of 128 read for a model of 256 gives 14 here.
  EXPECT_EQ(bias_of(32, 256, true).bucket(64), 12);
}

TEST(T5Bias, RefusesWhatHasNoBuckets) {
  EXPECT_NE(refusal(R"({"method":"t5_bias","num_heads":8,"relative_attention_num_buckets":1,
                        "bidirectional":false})"),
            "accepted");
  EXPECT_NE(refusal(R"({"method":"t5_bias","num_heads":8,"relative_attention_num_buckets":32,
                        "relative_attention_max_distance":16,"bidirectional":false})"),
            "accepted");
  EXPECT_NE(refusal(R"({"method":"t5_bias","num_heads":8})"), "accepted");
}

// Half of 33 buckets is no number: the last row of the learned table would be left over in silence.
TEST(T5Bias, RefusesAnOddNumberOfBucketsForTwoDirections) {
  EXPECT_NE(refusal(R"({"method":"t5_bias","num_heads":8,"relative_attention_num_buckets":33,
                        "bidirectional":true})")
                .find("relative_attention_num_buckets is 33: expected an even number"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({"method":"t5_bias","num_heads":8,"relative_attention_num_buckets":33,
                        "bidirectional":false})"),
            "accepted");
}

// Rounding the logarithm in place of truncating it moves 43 of the distances below 2000.
TEST(T5Bias, BucketsTruncateAndDoNotRound) {
  const auto bias = bias_of(32, 128, true);
  int moved = 0;
  for (int64_t distance = 1; distance < 2000; ++distance) {
    const double log_part = std::log(static_cast<double>(distance) / 8) / std::log(16.0) * 8;
    const auto rounded =
        distance < 8 ? distance : std::min<int64_t>(15, 8 + std::llround(log_part));
    moved += rounded != bias.bucket(distance);
  }
  EXPECT_EQ(moved, 43);
}

}  // namespace
}  // namespace hodometer
