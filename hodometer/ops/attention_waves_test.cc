#include <gtest/gtest.h>

#include <set>

#include "hodometer/ops/attention_waves-inl.h"

namespace hodometer::internal {
namespace {

/// Every pair that some query needs is there once, and no step has a part twice.
size_t expect_waves(const std::vector<KeyRange>& ranges, int64_t keys, int64_t tokens) {
  const Waves waves = make_waves(ranges, keys, tokens);
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (const auto& step : waves) {
    std::set<int64_t> query_parts, key_parts;
    for (const WavePair& pair : step) {
      EXPECT_TRUE(query_parts.insert(pair.queries).second);
      EXPECT_TRUE(key_parts.insert(pair.keys).second);
      EXPECT_TRUE(pairs.insert({pair.queries, pair.keys}).second);
    }
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (int64_t n = ranges[i].begin; n < ranges[i].end; ++n) {
      EXPECT_TRUE(pairs.contains({static_cast<int64_t>(i) / tokens, n / tokens}));
    }
  }
  return waves.size();
}

TEST(AttentionWaves, EveryPairComesOnce) {
  for (const int64_t queries : {0, 1, 10, 33, 60}) {
    for (const int64_t keys : {0, 1, 17, 60, 90}) {
      for (const int64_t window : {1, 5, 30, 100}) {
        std::vector<KeyRange> causal, all;
        for (int64_t i = 0; i < queries; ++i) {
          const int64_t end = std::clamp<int64_t>(keys - queries + i + 1, 0, keys);
          causal.push_back({std::max<int64_t>(0, end - window), end});
          all.push_back({0, keys});
        }
        expect_waves(causal, keys, 4);
        expect_waves(all, keys, 4);
      }
    }
  }
}

TEST(AttentionWaves, StepsAreFew) {
  std::vector<KeyRange> causal, window, all;
  for (int64_t i = 0; i < 64; ++i) {
    causal.push_back({0, i + 1});
    window.push_back({std::max<int64_t>(0, i - 4), i + 1});
    all.push_back({0, 64});
  }
  EXPECT_EQ(expect_waves(all, 64, 4), 16u);
  EXPECT_EQ(expect_waves(causal, 64, 4), 16u);
  EXPECT_LE(expect_waves(window, 64, 4), 3u);
}

TEST(AttentionWaves, PartsAreWholeTiles) {
  for (const int64_t length : {0, 1, 384, 4096, 131072}) {
    EXPECT_EQ(wave_tokens(length) % 192, 0);
    EXPECT_GE(wave_tokens(length), 384);
    EXPECT_LE(length, 32 * wave_tokens(length));
  }
}

TEST(AttentionWaves, Ranges) {
  const KeyRange ranges[] = {{5, 5}, {7, 9}, {9, 2}, {3, 4}};
  EXPECT_EQ(union_of(ranges).begin, 3);
  EXPECT_EQ(union_of(ranges).end, 9);
  EXPECT_FALSE(meet(union_of({}), {0, 100}));
  EXPECT_TRUE(meet({3, 4}, {0, 4}));
  EXPECT_FALSE(meet({3, 4}, {4, 9}));
}

}  // namespace
}  // namespace hodometer::internal
