#include "hodometer/kernels/attention_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "hodometer/kernels/attention_test.h"
#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kGap = 2;  // between rows of gradients
const DType kDTypes[] = {DType::float32, DType::bfloat16, DType::float16};

/// Gradients in double, of the query before its scale and of the key times kQueryFactor.
struct Gradients {
  explicit Gradients(const AttentionCase& c)
      : query(static_cast<size_t>(c.tokens * c.group * c.head_dim)),
        key(static_cast<size_t>(c.keys * c.head_dim)),
        value(static_cast<size_t>(c.keys * c.value_dim)),
        bias(static_cast<size_t>(c.tokens * c.group)) {}
  std::vector<double> query, key, value;
  std::vector<double> bias;  ///< per row, times the key's number + 1
};

Gradients expected_gradients(const AttentionCase& c, const AttentionData& data,
                             const TestData& out_gradient) {
  Gradients g(c);
  const AttentionExpected forward = expected_attention(c, data);
  for (int64_t row = 0; row < c.tokens * c.group; ++row) {
    const int64_t token = row / c.group, head = row % c.group;
    const auto gradient = [&](int64_t i) {
      return static_cast<double>(
          out_gradient.at(token * c.out_stride() + head * (c.value_dim + c.kGap) + i));
    };
    double delta = 0;
    for (int64_t i = 0; i < c.value_dim; ++i) {
      delta += gradient(i) * forward.out[static_cast<size_t>(row * c.value_dim + i)];
    }
    const double scale = static_cast<double>(data.scale[static_cast<size_t>(row)]);
    const KeyRange range = c.range(token);
    for (int64_t n = range.begin; n < range.end; ++n) {
      const double score = expected_score(c, data, token, head, n);
      if (std::isinf(score)) continue;
      const double p = std::exp(score - forward.log_sum[static_cast<size_t>(row)]);
      double product = 0;
      for (int64_t i = 0; i < c.value_dim; ++i) {
        product += gradient(i) * static_cast<double>(data.value.at(n * c.value_stride() + i));
        g.value[static_cast<size_t>(n * c.value_dim + i)] += p * gradient(i);
      }
      double s = p * (product - delta);
      g.bias[static_cast<size_t>(row)] += s * static_cast<double>(n + 1);
      if (c.soft_cap > 0) {
        const double cap = static_cast<double>(c.soft_cap);
        const double capped = (score - c.bias_of(head, token, n)) / cap;
        s *= 1 - capped * capped;
      }
      for (int64_t i = 0; i < c.head_dim; ++i) {
        const int64_t q = token * c.query_stride() + head * (c.head_dim + c.kGap) + i;
        g.query[static_cast<size_t>(row * c.head_dim + i)] +=
            s * static_cast<double>(data.key.at(n * c.key_stride() + i));
        g.key[static_cast<size_t>(n * c.head_dim + i)] +=
            s * static_cast<double>(data.query.at(q)) * scale * static_cast<double>(kQueryFactor);
      }
    }
  }
  return g;
}

/// Float32 rows with room behind each, all `start` at first.
struct GradientRows {
  GradientRows(int64_t rows, int64_t lanes, float start)
      : dim(lanes), begin(start), data(static_cast<size_t>(rows * (dim + kGap)), start) {}
  void expect(const std::vector<double>& expected, double bound, const char* what) const {
    double largest = 1;  // of one key the gradient is a difference of equal numbers
    for (const double v : expected) largest = std::max(largest, std::fabs(v));
    for (size_t i = 0, at = 0; i < data.size(); ++i) {
      const bool gap = static_cast<int64_t>(i) % (dim + kGap) >= dim;
      const double want = static_cast<double>(begin) + (gap ? 0 : expected[at++]);
      ASSERT_NEAR(static_cast<double>(data[i]), want, gap ? 0 : bound * largest) << what << i;
    }
  }
  int64_t dim;
  float begin;
  std::vector<float> data;
};

/// One run of the kernels over a case; gradients are added to what is there.
struct BackwardRun {
  explicit BackwardRun(const AttentionCase& given)
      : c(given),
        data(c),
        out_gradient(TestData::normal(c.out_type, c.tokens * c.out_stride(), 9)),
        query(c.tokens * c.group, c.head_dim, 0.5f),
        key(c.keys, c.head_dim, 0.25f),
        value(c.keys, c.value_dim, -0.5f),
        bias_sums(static_cast<size_t>(c.tokens * c.group * 3)) {
    block.attention = data.block(c);
    std::vector<float> scratch(static_cast<size_t>(attention_scratch_size(block.attention)));
    load_queries(block.attention, scratch.data());
    attend(block.attention, scratch.data());
    block.out_gradient = {c.out_type, out_gradient.bytes.data(), c.out_stride(),
                          c.value_dim + c.kGap};
    block.log_sum = data.log_sum.data();
    block.log_sum_token_stride = c.group;
    block.log_sum_head_stride = 1;
    block.keys = {0, c.keys};
    block.query_gradient = {query.data.data(), c.group * (c.head_dim + kGap), c.head_dim + kGap};
    block.key_gradient = {key.data.data(), c.head_dim + kGap};
    block.value_gradient = {value.data.data(), c.value_dim + kGap};
    block.bias_sums = {&add_weighted, nullptr, bias_sums.data(), 3};
  }
  static void add_weighted(const void*, const WeightTile& tile) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t n = 0; n < tile.keys; ++n) {
        tile.sums[r * tile.sum_stride + 1] +=
            tile.data[r * tile.stride + n] * static_cast<float>(tile.first_key + n + 1);
      }
    }
  }

  void run() {
    std::vector<float> scratch(static_cast<size_t>(attention_gradient_scratch_size(block)), NAN);
    load_queries(block.attention, scratch.data());
    load_out_gradients(block, scratch.data());
    attend_backward(block, scratch.data());
  }
  void expect(double bound) const {
    const Gradients g = expected_gradients(c, data, out_gradient);
    query.expect(g.query, bound, "query ");
    key.expect(g.key, bound, "key ");
    value.expect(g.value, bound, "value ");
    for (size_t row = 0; row < g.bias.size(); ++row) {
      ASSERT_NEAR(static_cast<double>(bias_sums[3 * row + 1]), g.bias[row],
                  bound * 4 * static_cast<double>(c.keys))
          << row;
    }
  }

  AttentionCase c;
  AttentionData data;
  TestData out_gradient;
  GradientRows query, key, value;
  std::vector<float> bias_sums;
  AttentionGradientBlock block;
};

double bound_of(DType out_type) {
  // Deltas come from outputs that were rounded.
  return out_type == DType::float32 ? 4e-6 : out_type == DType::bfloat16 ? 1e-2 : 2e-3;
}

void check(const AttentionCase& c, double bound = 0) {
  SCOPED_TRACE(testing::Message() << c.tokens << " tokens, group " << c.group << ", dims "
                                  << c.head_dim << "/" << c.value_dim << ", " << c.keys << " keys");
  BackwardRun backward(c);
  backward.run();
  backward.expect(bound > 0 ? bound : bound_of(c.out_type));
}

TEST(AttentionBackward, EveryHeadDim) {
  on_every_target([] {
    for (const int64_t dim : {1, 2, 3, 5, 8, 13, 32, 33, 64, 80, 96, 128, 256}) {
      AttentionCase c;
      c.head_dim = c.value_dim = dim;
      c.tokens = c.keys = 21;
      c.group = 2;
      c.ranges = causal_ranges(c.tokens, c.keys);
      check(c);
    }
    AttentionCase mla;
    mla.head_dim = 192;
    mla.value_dim = 128;
    mla.tokens = 4;
    mla.keys = 19;
    check(mla);
  });
}

TEST(AttentionBackward, EveryNumberOfTokensAndKeys) {
  on_every_target([] {
    for (const int64_t tokens : {1, 2, 5, 7, 12, 13, 25, 97}) {
      for (const int64_t keys : {1, 2, 7, 8, 16, 17, 33, 65, 193}) {
        AttentionCase c;
        c.tokens = tokens;
        c.keys = keys;
        check(c);
      }
    }
  });
}

TEST(AttentionBackward, GroupsShareKeysOverSeveralTiles) {
  on_every_target([] {
    for (const int64_t group : {1, 3, 8}) {
      AttentionCase c;
      c.group = group;
      c.head_dim = 16;
      c.value_dim = 24;
      c.tokens = 41;
      c.keys = 700;
      check(c);
      c.ranges = causal_ranges(c.tokens, c.keys);
      check(c);
    }
  });
}

TEST(AttentionBackward, EveryTypeAndMix) {
  on_every_target([] {
    for (const DType query : kDTypes) {
      for (const DType key : kDTypes) {
        for (const DType out : kDTypes) {
          AttentionCase c;
          c.query_type = query;
          c.key_type = key;
          c.value_type = query;
          c.out_type = out;
          c.tokens = c.keys = 18;
          c.head_dim = 21;
          c.value_dim = 35;
          check(c);
        }
      }
    }
  });
}

TEST(AttentionBackward, WindowsAndRowsWithoutKeys) {
  on_every_target([] {
    AttentionCase c;
    c.group = 2;
    c.tokens = c.keys = 400;
    for (const int64_t window : {1, 16, 300}) {
      c.ranges = window_ranges(c.tokens, c.keys, window);
      check(c);
    }
    c.ranges = causal_ranges(c.tokens, c.keys);
    for (int64_t i = 0; i < c.tokens; ++i) {
      KeyRange& range = c.ranges[static_cast<size_t>(i)];
      range.begin = i / 70 * 70;
      if (i % 11 == 3) range = {5, 5};
      if (i % 13 == 7) range = {9, 2};
    }
    check(c);
    c.ranges.assign(400, KeyRange{0, 0});
    check(c);
  });
}

TEST(AttentionBackward, BiasOverDistanceAndByTile) {
  on_every_target([] {
    AttentionCase c;
    c.group = 3;
    c.tokens = c.keys = 290;
    c.bias = slope_bias(c);
    check(c);
    c.ranges = window_ranges(c.tokens, c.keys, 37);
    BackwardRun backward(c);
    backward.block.attention.bias = {};
    backward.block.attention.bias.context = &c;
    backward.block.attention.bias.fill = [](const void* context, const BiasTile& tile) {
      fill_bias_tile(*static_cast<const AttentionCase*>(context), tile);
    };
    backward.run();
    backward.expect(4e-6);
  });
}

TEST(AttentionBackward, BiasOfMinusInfinityHides) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = c.keys = 40;
    c.bias = slope_bias(c);
    for (size_t i = 0; i < c.bias.size(); i += 2) c.bias[i] = -kInfinity;
    check(c);
    c.bias.assign(c.bias.size(), -kInfinity);
    check(c);
  });
}

TEST(AttentionBackward, SoftCapAndSinks) {
  on_every_target([] {
    for (const float cap : {0.5f, 5.0f, 50.0f}) {
      AttentionCase c;
      c.group = 2;
      c.tokens = c.keys = 45;
      c.head_dim = 32;
      c.soft_cap = cap;
      c.ranges = causal_ranges(c.tokens, c.keys);
      check(c);
      c.bias = slope_bias(c);
      c.sinks = {0.5f, -kInfinity};
      c.ranges[4] = {0, 0};
      check(c);
    }
  });
}

// A value that stands for a row of values by a rule of its own.
TEST(AttentionBackward, ValueScoresJoinTheProducts) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = c.keys = 30;
    BackwardRun with(c), without(c);
    with.block.value_scores.fill = [](const void*, const BiasTile& tile) {
      for (int64_t r = 0; r < tile.rows; ++r) {
        std::fill_n(tile.data + r * tile.stride, tile.keys, 2.0f);
      }
    };
    with.block.query_gradient.data = with.block.key_gradient.data = nullptr;
    with.block.bias_sums.add =
        without.block.bias_sums.add = [](const void*, const WeightTile& tile) {
          for (int64_t r = 0; r < tile.rows; ++r) {
            for (int64_t n = 0; n < tile.keys; ++n)
              tile.sums[r * 3] += tile.data[r * tile.stride + n];
          }
        };
    with.run();
    without.run();
    EXPECT_EQ(with.value.data, without.value.data);
    EXPECT_EQ(with.query.data, std::vector<float>(with.query.data.size(), 0.5f));
    // Probabilities of a row sum to 1.
    for (size_t row = 0; row < 30; ++row) {
      EXPECT_NEAR(without.bias_sums[3 * row], 0.0f, 1e-5f);
      EXPECT_NEAR(with.bias_sums[3 * row], 2.0f, 1e-5f);
    }
  });
}

// In parts of whole tiles every sum has the same terms in the same order.
TEST(AttentionBackward, PartsOfTheKeysGiveTheSameBitsForKeys) {
  on_every_target([] {
    AttentionCase c;
    c.group = 4;
    c.tokens = 60;
    c.keys = 500;
    c.ranges = causal_ranges(c.tokens, c.keys);
    BackwardRun whole(c), parts(c);
    whole.run();
    for (int64_t begin = 0; begin < c.keys; begin += 192) {
      parts.block.keys = {begin, std::min(begin + 192, c.keys)};
      parts.run();
    }
    EXPECT_EQ(whole.key.data, parts.key.data);
    EXPECT_EQ(whole.value.data, parts.value.data);
    parts.expect(4e-6);
  });
}

TEST(AttentionBackward, KeysNobodySeesDoNotMatter) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = 3;
    c.keys = 600;
    c.ranges = {{270, 290}, {275, 301}, {0, 0}};
    BackwardRun backward(c);
    backward.data.hide_keys_outside(c, {270, 301});
    backward.run();
    backward.expect(4e-6);
  });
}

TEST(AttentionBackward, NothingToDoIsNothing) {
  on_every_target([] {
    AttentionCase c;
    BackwardRun backward(c);
    backward.block.attention.tokens = 0;
    backward.run();
    EXPECT_EQ(backward.query.data, std::vector<float>(backward.query.data.size(), 0.5f));
    EXPECT_EQ(backward.value.data, std::vector<float>(backward.value.data.size(), -0.5f));
  });
}

TEST(AttentionBackward, ABlockHasTokens) {
  for (const int64_t group : {1, 4, 7, 384, 1000}) EXPECT_GE(attention_gradient_tokens(group), 1);
}

// Mixed types, and a length that fills no vector.
TEST(AttentionBackward, ProductsOfRows) {
  on_every_target([] {
    for (const int64_t dim : {1, 7, 16, 37}) {
      const TestData a = TestData::normal(DType::bfloat16, 6 * 40, 1);
      const TestData b = TestData::normal(DType::float32, 6 * 40, 2);
      std::vector<float> products(6);
      multiply_rows({3,
                     2,
                     dim,
                     {a.dtype, a.bytes.data(), 80, 40},
                     {b.dtype, b.bytes.data(), 80, 40},
                     products.data(),
                     1,
                     3});
      for (int64_t row = 0; row < 6; ++row) {
        double want = 0;
        for (int64_t i = 0; i < dim; ++i) {
          want += static_cast<double>(a.at(row * 40 + i)) * static_cast<double>(b.at(row * 40 + i));
        }
        EXPECT_NEAR(static_cast<double>(products[static_cast<size_t>(row / 2 + row % 2 * 3)]), want,
                    1e-5);
      }
    }
  });
}

}  // namespace
}  // namespace hodometer
