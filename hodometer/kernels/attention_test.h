#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/kernels/convert.h"

namespace hodometer {

/// Elements of a type, and what they are as float32.
struct TestData {
  DType dtype = DType::float32;
  std::vector<float> values;
  std::vector<std::byte> bytes;

  TestData(DType type, std::vector<float> from) : dtype(type), values(std::move(from)) {
    const auto count = static_cast<int64_t>(values.size());
    bytes.resize(values.size() * static_cast<size_t>(dtype_size(dtype)));
    from_float32(dtype, values.data(), bytes.data(), count);
    decode();
  }
  static TestData normal(DType type, int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> distribution;
    std::vector<float> from(static_cast<size_t>(count));
    for (float& v : from) v = distribution(random);
    return TestData(type, std::move(from));
  }
  void decode() {
    to_float32(dtype, bytes.data(), values.data(), static_cast<int64_t>(values.size()));
  }
  float at(int64_t i) const { return values[static_cast<size_t>(i)]; }
};

/// An attention over random data with room after every row, and its result in double.
struct AttentionCase {
  int64_t tokens = 5, group = 1, head_dim = 8, value_dim = 8, keys = 9;
  DType query_type = DType::float32, key_type = DType::float32, value_type = DType::float32,
        out_type = DType::float32;
  std::vector<KeyRange> ranges;  // empty: every token sees every key
  float soft_cap = 0;
  float spread = 1;  // the scores' standard deviation
  std::vector<float> sinks;
  std::vector<float> bias;  // per head over n - m + tokens - 1

  static constexpr int64_t kGap = 3;
  int64_t bias_length() const { return tokens + keys - 1; }
  int64_t key_stride() const { return head_dim + kGap; }
  int64_t value_stride() const { return value_dim + kGap; }
  int64_t query_stride() const { return (head_dim + kGap) * group; }
  int64_t out_stride() const { return (value_dim + kGap) * group; }
  KeyRange range(int64_t token) const {
    return ranges.empty() ? KeyRange{0, keys} : ranges[static_cast<size_t>(token)];
  }
  double bias_of(int64_t head, int64_t token, int64_t key) const {
    if (bias.empty()) return 0;
    const int64_t at = head * bias_length() + key - token + tokens - 1;
    return static_cast<double>(bias[static_cast<size_t>(at)]);
  }
};

struct AttentionExpected {
  std::vector<double> out;      // token, head, lane
  std::vector<double> log_sum;  // token, head
};

struct AttentionData {
  TestData query, key, value, out;
  std::vector<float> scale, log_sum;
  std::vector<KeyRange> ranges;

  explicit AttentionData(const AttentionCase& c)
      : query(TestData::normal(c.query_type, c.tokens * c.query_stride(), 1)),
        key(TestData::normal(c.key_type, c.keys * c.key_stride(), 2)),
        value(TestData::normal(c.value_type, c.keys * c.value_stride(), 3)),
        out(TestData::normal(c.out_type, c.tokens * c.out_stride(), 4)),
        log_sum(static_cast<size_t>(c.tokens * c.group), 7.0f) {
    for (int64_t i = 0; i < c.tokens * c.group; ++i) {
      scale.push_back(c.spread * (1 + 0.01f * static_cast<float>(i % 7)) /
                      std::sqrt(static_cast<float>(c.head_dim)));
    }
    for (int64_t i = 0; i < c.tokens; ++i) ranges.push_back(c.range(i));
  }

  /// Makes keys and values outside of the range NaN in memory; float32 only.
  void hide_keys_outside(const AttentionCase& c, const KeyRange& range) {
    const auto hide = [&](TestData& rows, int64_t stride) {
      auto* lanes = reinterpret_cast<float*>(rows.bytes.data());
      for (int64_t i = 0; i < c.keys * stride; ++i) {
        if (i / stride < range.begin || i / stride >= range.end) lanes[i] = NAN;
      }
    };
    hide(key, c.key_stride());
    hide(value, c.value_stride());
  }

  AttentionBlock block(const AttentionCase& c) {
    AttentionBlock block;
    block.tokens = c.tokens;
    block.group = c.group;
    block.head_dim = c.head_dim;
    block.value_dim = c.value_dim;
    block.query = {c.query_type, query.bytes.data(), c.query_stride(), c.head_dim + c.kGap};
    block.key = {c.key_type, key.bytes.data(), c.key_stride()};
    block.value = {c.value_type, value.bytes.data(), c.value_stride()};
    block.out = {c.out_type, out.bytes.data(), c.out_stride(), c.value_dim + c.kGap};
    block.ranges = ranges.data();
    block.scale = scale.data();
    block.scale_token_stride = c.group;
    block.scale_head_stride = 1;
    block.soft_cap = c.soft_cap;
    if (!c.sinks.empty()) block.sinks = c.sinks.data();
    block.log_sum = log_sum.data();
    block.log_sum_token_stride = c.group;
    block.log_sum_head_stride = 1;
    if (!c.bias.empty()) {
      block.bias.data = c.bias.data() + c.tokens - 1;
      block.bias.token_stride = -1;
      block.bias.head_stride = c.bias_length();
    }
    return block;
  }
};

inline double expected_score(const AttentionCase& c, const AttentionData& data, int64_t token,
                             int64_t head, int64_t key) {
  double score = 0;
  for (int64_t i = 0; i < c.head_dim; ++i) {
    const int64_t q = token * c.query_stride() + head * (c.head_dim + c.kGap) + i;
    score += static_cast<double>(data.query.at(q)) *
             static_cast<double>(data.key.at(key * c.key_stride() + i));
  }
  score *= static_cast<double>(data.scale[static_cast<size_t>(token * c.group + head)]);
  const double cap = static_cast<double>(c.soft_cap);
  if (cap > 0) score = cap * std::tanh(score / cap);
  return score + c.bias_of(head, token, key);
}

/// The sums written out in double, as if softmax were taught with them.
inline AttentionExpected expected_attention(const AttentionCase& c, const AttentionData& data) {
  AttentionExpected expected;
  const double nothing = -std::numeric_limits<double>::infinity();
  for (int64_t token = 0; token < c.tokens; ++token) {
    for (int64_t head = 0; head < c.group; ++head) {
      const KeyRange range = c.range(token);
      std::vector<double> scores;
      double largest = nothing;
      if (!c.sinks.empty()) largest = static_cast<double>(c.sinks[static_cast<size_t>(head)]);
      const double sink = largest;
      for (int64_t key = range.begin; key < range.end; ++key) {
        scores.push_back(expected_score(c, data, token, head, key));
        largest = std::max(largest, scores.back());
      }
      std::vector<double> row(static_cast<size_t>(c.value_dim), 0.0);
      double sum = 0;
      if (largest != nothing) {
        sum = std::exp(sink - largest);
        for (size_t n = 0; n < scores.size(); ++n) {
          const double p = std::exp(scores[n] - largest);
          sum += p;
          const int64_t at = (range.begin + static_cast<int64_t>(n)) * c.value_stride();
          for (int64_t i = 0; i < c.value_dim; ++i) {
            row[static_cast<size_t>(i)] += p * static_cast<double>(data.value.at(at + i));
          }
        }
        for (double& v : row) v /= sum;
      }
      expected.out.insert(expected.out.end(), row.begin(), row.end());
      expected.log_sum.push_back(sum == 0 ? nothing : largest + std::log(sum));
    }
  }
  return expected;
}

/// Compares what was written, and that nothing was written beside it.
inline void expect_attention(const AttentionCase& c, AttentionData& data, double bound = 2e-6) {
  const AttentionExpected expected = expected_attention(c, data);
  const std::vector<float> before = data.out.values;
  data.out.decode();
  double largest = 1e-30;
  for (const double v : expected.out) largest = std::max(largest, std::fabs(v));
  const int bits = c.out_type == DType::float32 ? 24 : c.out_type == DType::bfloat16 ? 8 : 11;
  int64_t at = 0;
  for (int64_t row = 0; row < c.tokens * c.group; ++row) {
    for (int64_t i = 0; i < c.value_dim + c.kGap; ++i) {
      const float actual = data.out.at(row * (c.value_dim + c.kGap) + i);
      if (i >= c.value_dim) {
        const auto k = static_cast<size_t>(row * (c.value_dim + c.kGap) + i);
        ASSERT_EQ(actual, before[k]) << "written outside row " << row;
        continue;
      }
      const double value = expected.out[static_cast<size_t>(at++)];
      const double rounding = std::ldexp(std::fabs(value), -bits) + (bits == 11 ? 0x1p-25 : 0);
      ASSERT_NEAR(static_cast<double>(actual), value, bound * largest + rounding)
          << "row " << row << " lane " << i;
    }
    const double log_sum = expected.log_sum[static_cast<size_t>(row)];
    const double actual = static_cast<double>(data.log_sum[static_cast<size_t>(row)]);
    if (std::isinf(log_sum)) {
      ASSERT_EQ(actual, log_sum) << row;
    } else {
      ASSERT_NEAR(actual, log_sum, bound * std::max(1.0, std::fabs(log_sum))) << row;
    }
  }
}

inline std::vector<KeyRange> causal_ranges(int64_t tokens, int64_t keys) {
  std::vector<KeyRange> ranges;
  for (int64_t i = 0; i < tokens; ++i) ranges.push_back({0, i + 1 + keys - tokens});
  return ranges;
}

inline std::vector<KeyRange> window_ranges(int64_t tokens, int64_t keys, int64_t window) {
  std::vector<KeyRange> ranges = causal_ranges(tokens, keys);
  for (KeyRange& r : ranges) r.begin = std::max(r.begin, r.end - window);
  return ranges;
}

inline std::vector<float> slope_bias(const AttentionCase& c) {
  std::vector<float> bias;
  for (int64_t head = 0; head < c.group; ++head) {
    for (int64_t i = 0; i < c.bias_length(); ++i) {
      const auto distance = static_cast<float>(std::abs(i - c.tokens + 1));
      bias.push_back(-0.05f * static_cast<float>(head + 1) * distance);
    }
  }
  return bias;
}

inline void fill_bias_tile(const AttentionCase& c, const BiasTile& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t row = tile.first_row + r;
    for (int64_t n = 0; n < tile.keys; ++n) {
      tile.data[r * tile.stride + n] =
          static_cast<float>(c.bias_of(row % c.group, row / c.group, tile.first_key + n));
    }
  }
}

}  // namespace hodometer
