#include <gtest/gtest.h>

#include "hodometer/ops/attention_cases_test.h"
#include "hodometer/ops/query_block-inl.h"
#include "hodometer/ops/rotate.h"

namespace hodometer::internal {
namespace {

using hodometer::testing::AttentionTensors;
using hodometer::testing::plan_of;

/// Checks the call and builds what blocks share.
struct Prepared {
  Prepared(std::string_view spec, const hodometer::testing::AttentionShape& s,
           const AttentionOptions& given = {})
      : plan(plan_of(spec)),
        tensors(s),
        options(given),
        call(check_attention(plan, tensors.q.view(), tensors.k.view(), tensors.v.view(),
                             tensors.out.view(), options)
                 .value()),
        parts(call) {}
  Plan plan;
  AttentionTensors tensors;
  AttentionOptions options;
  AttentionCall call;
  AttentionParts parts;
};

TEST(QueryBlock, SlicesAreTheBiasOfEveryPair) {
  Prepared p(R"({"method":"alibi","num_heads":4})", {10, 30, 4, 2, 8, 8});
  p.parts.make_slices();
  ASSERT_TRUE(p.parts.slices().has_value());
  const QueryBlock block(p.parts, {0, 1, 3, 5});
  const ScoreBias& bias = block.block().bias;
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t n = 0; n <= 20 + 3 + i; ++n) {
        const float slope = static_cast<float>(p.plan.distance_bias->slopes[size_t(2 + h)]);
        EXPECT_FLOAT_EQ(bias.data[h * bias.head_stride + i * bias.token_stride + n],
                        -slope * static_cast<float>(20 + 3 + i - n));
      }
    }
  }
}

TEST(QueryBlock, SlicesOutOfProportionAreNotMade) {
  AttentionOptions options;
  options.query_positions = PositionView::range(int64_t{1} << 30);
  options.key_positions = PositionView::range(0);
  Prepared p(R"({"method":"alibi","num_heads":4})", {10, 10, 4, 2, 8, 8}, options);
  p.parts.make_slices();
  EXPECT_TRUE(p.parts.slices().has_value());  // few distances, though far ones
  const std::vector<int64_t> positions{0, int64_t{1} << 30};
  options.query_positions = options.key_positions = PositionView::shared_ids(positions);
  Prepared far(R"({"method":"alibi","num_heads":4})", {2, 2, 4, 2, 8, 8}, options);
  far.parts.make_slices();
  EXPECT_FALSE(far.parts.slices().has_value());
}

TEST(QueryBlock, LoadsQueriesTurnedAndScaled) {
  Prepared p(R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000})",
             {6, 6, 4, 2, 8, 8});
  QueryBlock block(p.parts, {0, 1, 2, 3});
  std::vector<float> scratch(static_cast<size_t>(attention_scratch_size(block.block())));
  block.load(scratch.data());
  hodometer::testing::Heads turned = p.tensors.q;
  ASSERT_TRUE(rotate(p.plan, turned.view(), PositionView::range(0)).ok());
  const float* rows = attention_query_rows(scratch.data());
  for (int64_t row = 0; row < 6; ++row) {
    for (int64_t lane = 0; lane < 8; ++lane) {
      EXPECT_NEAR(rows[row * 8 + lane],
                  turned.at(0, 2 + row / 2, 2 + row % 2, lane) * static_cast<double>(kQueryFactor) /
                      std::sqrt(8.0),
                  1e-6);
    }
  }
}

TEST(QueryBlock, KeysComeTurnedWhereTheyAreNotYet) {
  AttentionOptions options;
  options.key_positions = PositionView::range(1000);
  options.query_positions = PositionView::range(1000);
  Prepared p(R"({"method":"rotary","head_dim":8,"layout":"interleaved","base":10000})",
             {6, 6, 4, 2, 8, 8}, options);
  const QueryBlock block(p.parts, {0, 1, 0, 6});
  ASSERT_NE(block.block().key.load, nullptr);
  std::vector<float> rows(3 * 8);
  block.block().key.load(block.block().key.context, 2, 3, rows.data());
  hodometer::testing::Heads turned = p.tensors.k;
  ASSERT_TRUE(rotate(p.plan, turned.view(), PositionView::range(1000)).ok());
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t lane = 0; lane < 8; ++lane) {
      EXPECT_EQ(static_cast<double>(rows[static_cast<size_t>(i * 8 + lane)]),
                turned.at(0, 2 + i, 1, lane));
    }
  }
}

}  // namespace
}  // namespace hodometer::internal
