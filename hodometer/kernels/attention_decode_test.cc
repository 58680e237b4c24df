#include "hodometer/kernels/attention_decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "hodometer/kernels/attention_test.h"
#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

const DType kDTypes[] = {DType::float32, DType::bfloat16, DType::float16};

// In parts of so many keys.
void run(const AttentionBlock& block, int64_t keys, int64_t part) {
  std::vector<float> scratch(static_cast<size_t>(attend_keys_scratch_size(block)), NAN);
  const int64_t size = attention_partial_size(block);
  const int64_t parts = (keys + part - 1) / part;
  std::vector<float> partials(static_cast<size_t>(parts * size), NAN);
  for (int64_t i = 0; i < parts; ++i) {
    load_queries(block, scratch.data());
    attend_keys({&block, 1}, {i * part, std::min((i + 1) * part, keys)}, scratch.data(),
                partials.data() + i * size);
  }
  merge_partials(block, partials.data(), parts, size);
}

void check(const AttentionCase& c, double bound = 2e-6) {
  for (const int64_t part : {c.keys, int64_t{50}}) {
    SCOPED_TRACE(testing::Message()
                 << c.tokens << " tokens, group " << c.group << ", dims " << c.head_dim << "/"
                 << c.value_dim << ", " << c.keys << " keys by " << part);
    AttentionData data(c);
    run(data.block(c), c.keys, part);
    expect_attention(c, data, bound);
  }
}

TEST(AttentionDecode, EveryHeadDim) {
  on_every_target([] {
    for (const int64_t dim : {1, 2, 3, 5, 8, 13, 32, 33, 64, 80, 96, 128, 256}) {
      AttentionCase c;
      c.tokens = 1;
      c.head_dim = c.value_dim = dim;
      c.group = 4;
      c.keys = 150;
      check(c);
    }
    AttentionCase mla;
    mla.tokens = 1;
    mla.head_dim = 192;
    mla.value_dim = 128;
    mla.group = 3;
    mla.keys = 70;
    check(mla);
  });
}

TEST(AttentionDecode, EveryNumberOfRowsAndKeys) {
  on_every_target([] {
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 11}) {
      for (const int64_t keys : {1, 2, 3, 7, 8, 9, 63, 64, 65, 129, 200}) {
        AttentionCase c;
        c.tokens = 1;
        c.group = rows;
        c.keys = keys;
        c.value_dim = 37;
        check(c);
      }
    }
  });
}

TEST(AttentionDecode, EveryTypeAndMix) {
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
            c.tokens = 1;
            c.group = 7;
            c.keys = 80;
            c.head_dim = 21;
            c.value_dim = 35;
            check(c);
          }
        }
      }
    }
  });
}

TEST(AttentionDecode, DraftTokensSeeDifferentKeys) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = 5;
    c.group = 2;
    c.keys = 170;
    c.ranges = causal_ranges(c.tokens, c.keys);
    check(c);
    c.ranges = window_ranges(c.tokens, c.keys, 30);
    c.ranges[2] = {0, 0};
    check(c);
    c.ranges.assign(5, KeyRange{3, 3});
    check(c);
  });
}

TEST(AttentionDecode, BiasCapAndSinks) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = 2;
    c.group = 3;
    c.keys = 170;
    c.ranges = causal_ranges(c.tokens, c.keys);
    c.bias = slope_bias(c);
    c.soft_cap = 5;
    c.sinks = {0.5f, 30.0f, -std::numeric_limits<float>::infinity()};
    check(c);
    c.bias.assign(c.bias.size(), -std::numeric_limits<float>::infinity());
    check(c);
  });
}

TEST(AttentionDecode, BiasByTile) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = 2;
    c.group = 3;
    c.keys = 170;
    c.bias = slope_bias(c);
    AttentionData data(c);
    AttentionBlock block = data.block(c);
    block.bias = {};
    block.bias.context = &c;
    block.bias.fill = [](const void* context, const BiasTile& tile) {
      fill_bias_tile(*static_cast<const AttentionCase*>(context), tile);
    };
    run(block, c.keys, 100);
    expect_attention(c, data);
  });
}

// Heads side by side in rows of one array, worked on together and one by one.
TEST(AttentionDecode, SeveralBlocksTakeTurns) {
  on_every_target([] {
    for (const DType dtype : kDTypes) {
      AttentionCase c;
      c.tokens = 2;
      c.group = 3;
      c.head_dim = c.value_dim = 40;
      c.keys = 133;
      c.ranges = causal_ranges(c.tokens, c.keys);
      c.key_type = c.value_type = dtype;
      AttentionCase wide = c;
      wide.head_dim = wide.value_dim = 40 * 3;
      AttentionData data(wide), together(c), apart(c);
      std::vector<AttentionBlock> blocks(3, together.block(c));
      for (int64_t i = 0; i < 3; ++i) {
        AttentionBlock& block = blocks[static_cast<size_t>(i)];
        const int64_t at = i * 40 * dtype_size(dtype);
        block.key = {dtype, data.key.bytes.data() + at, wide.key_stride()};
        block.value = {dtype, data.value.bytes.data() + at, wide.value_stride()};
      }
      const int64_t size = attend_keys_scratch_size(blocks[0]);
      const int64_t partial = attention_partial_size(blocks[0]);
      std::vector<float> scratch(static_cast<size_t>(3 * size));
      std::vector<float> partials(static_cast<size_t>(3 * partial));
      for (int64_t i = 0; i < 3; ++i) {
        load_queries(blocks[static_cast<size_t>(i)], scratch.data() + i * size);
      }
      attend_keys(blocks, {0, c.keys}, scratch.data(), partials.data());
      for (int64_t i = 0; i < 3; ++i) {
        const AttentionBlock& block = blocks[static_cast<size_t>(i)];
        merge_partials(block, partials.data() + i * partial, 1, partial);
        AttentionBlock alone = block;
        alone.out.data = apart.out.bytes.data();
        alone.log_sum = apart.log_sum.data();
        run(alone, c.keys, c.keys);
        EXPECT_EQ(together.out.bytes, apart.out.bytes);
        EXPECT_EQ(together.log_sum, apart.log_sum);
      }
    }
  });
}

TEST(AttentionDecode, KeysNobodySeesDoNotMatter) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = 1;
    c.keys = 200;
    c.ranges = {{30, 171}};
    AttentionData data(c);
    data.hide_keys_outside(c, {30, 171});
    run(data.block(c), c.keys, 64);
    expect_attention(c, data);
  });
}

TEST(AttentionDecode, NaNIsNotHidden) {
  on_every_target([] {
    AttentionCase c;
    c.tokens = 2;
    AttentionData data(c);
    reinterpret_cast<float*>(data.query.bytes.data())[3] = NAN;
    run(data.block(c), c.keys, c.keys);
    data.out.decode();
    EXPECT_TRUE(std::isnan(data.out.at(0)));
    EXPECT_FALSE(std::isnan(data.out.at(c.out_stride())));
  });
}

}  // namespace
}  // namespace hodometer
