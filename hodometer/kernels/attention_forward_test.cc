#include "hodometer/kernels/attention_forward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "hodometer/kernels/attention_test.h"
#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const DType kDTypes[] = {DType::float32, DType::bfloat16, DType::float16};

void run(const AttentionBlock& block) {
  std::vector<float> scratch(static_cast<size_t>(attention_scratch_size(block)), NAN);
  load_queries(block, scratch.data());
  attend(block, scratch.data());
}

void check(const AttentionCase& c, double bound = 2e-6) {
  SCOPED_TRACE(testing::Message() << c.tokens << " tokens, group " << c.group << ", dims "
                                  << c.head_dim << "/" << c.value_dim << ", " << c.keys << " keys");
  AttentionData data(c);
  run(data.block(c));
  expect_attention(c, data, bound);
}

TEST(AttentionForward, EveryHeadDim) {
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

TEST(AttentionForward, EveryNumberOfTokensAndKeys) {
  on_every_target([] {
    for (const int64_t tokens : {1, 2, 3, 5, 6, 7, 11, 12, 13, 25}) {
      for (const int64_t keys : {1, 2, 7, 8, 15, 16, 17, 31, 33, 65}) {
        AttentionCase c;
        c.tokens = tokens;
        c.keys = keys;
        check(c);
      }
    }
  });
}

TEST(AttentionForward, GroupsShareKeysOverSeveralTiles) {
  on_every_target([] {
    for (const int64_t group : {1, 3, 4, 8}) {
      AttentionCase c;
      c.group = group;
      c.head_dim = 16;
      c.value_dim = 24;
      c.tokens = 9;
      c.keys = 700;
      check(c);
      c.ranges = causal_ranges(c.tokens, c.keys);
      check(c);
    }
  });
}

TEST(AttentionForward, EveryTypeAndMix) {
  on_every_target([] {
    for (const DType query : kDTypes) {
      for (const DType key : kDTypes) {
        for (const DType value : kDTypes) {
          for (const DType out : kDTypes) {
            AttentionCase c;
            c.query_type = query;
            c.key_type = key;
            c.value_type = value;
            c.out_type = out;
            c.tokens = c.keys = 18;
            c.head_dim = 21;
            c.value_dim = 35;
            check(c);
          }
        }
      }
    }
  });
}

TEST(AttentionForward, WindowsChunksAndRowsWithoutKeys) {
  on_every_target([] {
    AttentionCase c;
    c.group = 2;
    c.tokens = c.keys = 600;
    for (const int64_t window : {1, 5, 16, 300}) {
      c.ranges = window_ranges(c.tokens, c.keys, window);
      check(c);
    }
    c.ranges = causal_ranges(c.tokens, c.keys);
    for (int64_t i = 0; i < c.tokens; ++i) {
      KeyRange& range = c.ranges[static_cast<size_t>(i)];
      range.begin = i / 70 * 70;
      if (i % 11 == 3) range = {5, 5};
      if (i % 13 == 7) range = {9, 2};
      if (i % 17 == 2) range = {i / 2, i / 2 + 1};
    }
    check(c);
    c.ranges.assign(600, KeyRange{0, 0});
    check(c);
  });
}

TEST(AttentionForward, BiasOverDistance) {
  on_every_target([] {
    AttentionCase c;
    c.group = 3;
    c.tokens = c.keys = 290;
    c.bias = slope_bias(c);
    check(c);
    c.ranges = window_ranges(c.tokens, c.keys, 37);
    check(c);
  });
}

TEST(AttentionForward, BiasByTile) {
  on_every_target([] {
    AttentionCase c;
    c.group = 3;
    c.tokens = c.keys = 290;
    c.bias = slope_bias(c);
    c.ranges = causal_ranges(c.tokens, c.keys);
    AttentionData data(c);
    AttentionBlock block = data.block(c);
    block.bias = {};
    block.bias.context = &c;
    block.bias.fill = [](const void* context, const BiasTile& tile) {
      fill_bias_tile(*static_cast<const AttentionCase*>(context), tile);
    };
    run(block);
    expect_attention(c, data);
  });
}

TEST(AttentionForward, BiasOfMinusInfinityHides) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = c.keys = 40;
    c.bias = slope_bias(c);
    for (size_t i = 0; i < c.bias.size(); i += 2) c.bias[i] = -kInfinity;
    check(c);
    c.bias.assign(c.bias.size(), -kInfinity);
    c.ranges = causal_ranges(c.tokens, c.keys);
    AttentionData data(c);
    run(data.block(c));
    data.out.decode();
    for (int64_t i = 0; i < c.tokens * c.out_stride(); ++i) {
      if (i % c.out_stride() >= c.value_dim) continue;
      ASSERT_EQ(data.out.at(i), 0.0f) << i;
    }
    for (const float log_sum : data.log_sum) ASSERT_EQ(log_sum, -kInfinity);
  });
}

TEST(AttentionForward, SoftCap) {
  on_every_target([] {
    for (const float cap : {0.5f, 5.0f, 50.0f}) {
      for (const float spread : {0.01f, 1.0f, 12.0f}) {
        AttentionCase c;
        c.group = 2;
        c.tokens = c.keys = 45;
        c.head_dim = 32;
        c.soft_cap = cap;
        c.spread = spread;
        c.ranges = causal_ranges(c.tokens, c.keys);
        check(c, spread > 10 ? 2e-5 : 2e-6);  // scores up to 50 are rounded
        c.bias = slope_bias(c);
        check(c, spread > 10 ? 2e-5 : 2e-6);
      }
    }
  });
}

TEST(AttentionForward, SinksTakeTheirShare) {
  on_every_target([] {
    AttentionCase c;
    c.group = 4;
    c.tokens = c.keys = 30;
    c.ranges = causal_ranges(c.tokens, c.keys);
    c.ranges[4] = {0, 0};
    c.sinks = {0.5f, -3.0f, 40.0f, -kInfinity};
    check(c);
  });
}

TEST(AttentionForward, ScoresFarApart) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = c.keys = 50;
    c.head_dim = 64;
    c.spread = 300;
    check(c, 5e-4);  // a score of 1000 is rounded to 6e-5
  });
}

TEST(AttentionForward, TheSameBitsForAnySplit) {
  on_every_target([] {
    AttentionCase c;
    c.group = 4;
    c.head_dim = 24;
    c.value_dim = 40;
    c.tokens = c.keys = 530;
    c.bias = slope_bias(c);
    for (const int64_t window : {530, 100}) {
      c.ranges = window_ranges(c.tokens, c.keys, window);
      AttentionData whole(c), parts(c);
      run(whole.block(c));
      const AttentionBlock all = parts.block(c);
      for (int64_t first = 0; first < c.tokens; first += 37) {
        AttentionBlock part = all;
        part.tokens = std::min<int64_t>(37, c.tokens - first);
        part.query.data = parts.query.bytes.data() + first * c.query_stride() * 4;
        part.out.data = parts.out.bytes.data() + first * c.out_stride() * 4;
        part.ranges += first;
        part.scale += first * c.group;
        part.log_sum += first * c.group;
        part.bias.data -= first;
        run(part);
      }
      EXPECT_EQ(whole.out.bytes, parts.out.bytes);
      EXPECT_EQ(whole.log_sum, parts.log_sum);
    }
  });
}

// Keys that no token sees may lie in memory that was never written.
TEST(AttentionForward, KeysNobodySeesDoNotMatter) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = 3;
    c.keys = 600;
    c.ranges = {{270, 290}, {275, 301}, {0, 0}};
    AttentionData data(c);
    data.hide_keys_outside(c, {270, 301});
    run(data.block(c));
    expect_attention(c, data);
  });
}

TEST(AttentionForward, NaNIsNotHidden) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = 2;
    AttentionData data(c);
    reinterpret_cast<float*>(data.query.bytes.data())[3] = NAN;
    run(data.block(c));
    data.out.decode();
    EXPECT_TRUE(std::isnan(data.out.at(0)));
    EXPECT_FALSE(std::isnan(data.out.at(c.out_stride())));
  });
}

TEST(AttentionForward, RowsMayBeWrittenInPlaceOfLoading) {
  on_every_target([] {
    AttentionCase c;
    c.group = 2;
    AttentionData data(c);
    const AttentionBlock block = data.block(c);
    std::vector<float> scratch(static_cast<size_t>(attention_scratch_size(block)));
    float* rows = attention_query_rows(scratch.data());
    for (int64_t row = 0; row < c.tokens * c.group; ++row) {
      for (int64_t i = 0; i < c.head_dim; ++i) {
        rows[row * c.head_dim + i] = data.query.at(row * (c.head_dim + c.kGap) + i) *
                                     data.scale[static_cast<size_t>(row)] * kQueryFactor;
      }
    }
    attend(block, scratch.data());
    expect_attention(c, data);
  });
}

TEST(AttentionForward, NothingToDoIsNothing) {
  on_every_target([] {
    AttentionCase c;
    AttentionData data(c);
    AttentionBlock block = data.block(c);
    block.tokens = 0;
    const std::vector<std::byte> before = data.out.bytes;
    run(block);
    EXPECT_EQ(data.out.bytes, before);
  });
}

TEST(AttentionForward, ABlockHasTokens) {
  for (const int64_t group : {1, 4, 7, 8, 128, 1000}) {
    for (const int64_t dim : {1, 128, 256}) {
      EXPECT_GE(attention_block_tokens(group, dim, dim), 1);
    }
  }
}

}  // namespace
}  // namespace hodometer
