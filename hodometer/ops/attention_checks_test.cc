// What attention refuses, in its words.

#include <gtest/gtest.h>

#include "hodometer/ops/attention.h"
#include "hodometer/ops/attention_cases_test.h"
#include "hodometer/ops/attention_checks-inl.h"

namespace hodometer {
namespace {

using testing::AttentionShape;
using testing::AttentionTensors;
using testing::plan_of;

constexpr std::string_view nope = R"({"method":"nope"})";
constexpr std::string_view rotary =
    R"({"method":"rotary","head_dim":16,"layout":"half_split","base":10000})";

std::string refusal(std::string_view spec, const AttentionShape& s,
                    const AttentionOptions& options = {}) {
  AttentionTensors t(s);
  const Status status = t.run(plan_of(spec), options);
  return status.ok() ? "accepted" : status.error().message;
}

TEST(AttentionChecks, Shapes) {
  EXPECT_EQ(refusal(nope, {5, 5, 4, 3, 16, 16}),
            "attention: 4 heads of q over 3 of k: expected a multiple");
  EXPECT_EQ(refusal(rotary, {5, 5, 4, 2, 8, 8}),
            "attention: head_dim is 8: expected the plan's 16");
  EXPECT_EQ(refusal(nope, {5, 5, 4, 2, 513, 8}),
            "attention: head_dim of q is 513: expected 1 to 512");
  AttentionTensors t({5, 6, 4, 2, 16, 16});
  HeadsView k = t.k.view();
  k.length = 5;
  const Status status = attention(plan_of(nope), t.q.view(), k, t.v.view(), t.out.view(), {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "attention: v is [1, 6, 2, 16]: expected [1, 5, 2, 16]");
}

TEST(AttentionChecks, QueriesBeyondTheKeysNeedPositions) {
  EXPECT_EQ(refusal(nope, {6, 5, 2, 1, 16, 16}),
            "attention: 6 queries and 5 keys: expected query_positions, because the queries cannot "
            "be the last of the keys");
  AttentionOptions options;
  options.mask = BidirectionalMask();
  EXPECT_EQ(refusal(nope, {6, 5, 2, 1, 16, 16}, options), "accepted");
}

TEST(AttentionChecks, LearnedTables) {
  EXPECT_EQ(
      refusal(R"({"method":"t5_bias","num_heads":4,"bidirectional":true})", {5, 5, 4, 2, 16, 16}),
      "attention: learned.buckets has 0 values: expected 128 ([num_buckets, num_heads])");
  const std::vector<float> rows(100);
  AttentionOptions options;
  options.learned.key_rows = rows;
  EXPECT_EQ(refusal(R"({"method":"shaw","max_distance":2})", {5, 5, 4, 2, 16, 16}, options),
            "attention: learned.key_rows has 100 values: expected 80 ([num_rows, head_dim])");
  EXPECT_EQ(refusal(nope, {5, 5, 4, 2, 16, 16}, options),
            "attention: learned.key_rows has 100 values: expected 0 ([num_rows, head_dim])");
  EXPECT_EQ(refusal(R"({"method":"alibi","num_heads":8})", {5, 5, 4, 2, 16, 16}),
            "attention: q has 4 heads: expected the plan's 8");
}

TEST(AttentionChecks, Options) {
  const AttentionShape s{5, 5, 4, 2, 16, 16};
  AttentionOptions options;
  options.scale = NAN;
  EXPECT_EQ(refusal(nope, s, options), "attention: scale is nan: expected a finite number");
  options = {};
  options.soft_cap = -1;
  EXPECT_EQ(refusal(nope, s, options),
            "attention: soft_cap is -1: expected 0 (none) or a finite number above it");
  options = {};
  const std::vector<float> sinks(3);
  options.sinks = sinks;
  EXPECT_EQ(refusal(nope, s, options), "attention: sinks has 3 values: expected 4 ([num_heads])");
  options = {};
  options.mask = ChunkedMask{0};
  EXPECT_NE(refusal(nope, s, options).find("0"), std::string::npos);
  EXPECT_NE(refusal(nope, s, options), "accepted");
}

TEST(AttentionChecks, Segments) {
  const AttentionShape s{5, 5, 4, 2, 16, 16};
  std::vector<SegmentId> segments(5, SegmentId(1));
  AttentionOptions options;
  options.query_segments = SegmentView::contiguous(segments.data(), 1, 5);
  EXPECT_EQ(refusal(nope, s, options),
            "attention: segments of queries or of keys only: expected both");
  options.key_segments = SegmentView::contiguous(segments.data(), 1, 4);
  EXPECT_EQ(refusal(nope, s, options),
            "attention: key_segments are [1, 4]: expected [1, 5], or 1 row for all");
  options.key_segments = SegmentView::contiguous(nullptr, 1, 5);
  EXPECT_EQ(refusal(nope, s, options), "attention: key_segments have no data");
  segments[3] = SegmentId(-1);
  options.key_segments = SegmentView::contiguous(segments.data(), 1, 5);
  EXPECT_EQ(refusal(nope, s, options),
            "attention: query_segments[0, 3] is -1: expected 0 (padding) or above");
}

TEST(AttentionChecks, Positions) {
  const AttentionShape s{5, 5, 4, 2, 16, 16};
  AttentionOptions options;
  options.key_positions = PositionView::range(max_position);
  EXPECT_NE(refusal(rotary, s, options).find("key_positions"), std::string::npos);
  const std::vector<double> halves(5, 0.5);
  options = {};
  options.query_positions = PositionView::coordinates(halves.data(), 1, 1, 5);
  EXPECT_EQ(refusal(R"({"method":"alibi","num_heads":4})", s, options),
            "attention: the method alibi goes by whole distances: expected positions that are "
            "whole numbers");
}

}  // namespace
}  // namespace hodometer
