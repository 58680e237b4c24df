// Ways in which attention lost its positions elsewhere, each with the smallest input that shows it.

#include <gtest/gtest.h>

#include "hodometer/ops/attention_cases_test.h"
#include "hodometer/position/position_ids.h"

namespace hodometer {
namespace {

using testing::AttentionShape;
using testing::AttentionTensors;
using testing::plan_of;

void fill(testing::Heads& heads, float value) {
  std::fill_n(static_cast<float*>(heads.view().data), heads.elements(), value);
}

/// v[n, lane] = 1 where lane is n: outputs are the weights.
AttentionTensors weights_of(int64_t q_length, int64_t keys, int64_t heads) {
  AttentionTensors t({q_length, keys, heads, 1, 8, keys});
  fill(t.q, 0);
  fill(t.v, 0);
  for (int64_t n = 0; n < keys; ++n) {
    static_cast<float*>(t.v.view().data)[n * keys + n] = 1;
  }
  return t;
}

// Slope 0.5 over six tokens of equal score: nearer keys weigh more, at any place of the sequence.
// The absolute form, slope times key, is infinite in 16 bits at key 131071, and with the sign of
// query - key the farthest key weighs most.
TEST(AttentionFaults, AlibiFallsOffWithTheDistanceEverywhere) {
  const Plan plan = plan_of(R"({"method":"alibi","slopes":[0.5]})", 1048576);
  for (const int64_t first : {0, 131066, 1048570}) {
    AttentionTensors t = weights_of(1, 6, 1);
    AttentionOptions options;
    options.key_positions = PositionView::range(first);
    options.query_positions = PositionView::range(first + 5);
    ASSERT_TRUE(t.run(plan, options).ok());
    const std::vector<double> want{0.0340, 0.0560, 0.0924, 0.1523, 0.2512, 0.4141};
    for (int64_t n = 0; n < 6; ++n) {
      EXPECT_NEAR(t.out.at(0, 0, 0, n), want[static_cast<size_t>(n)], 5e-5) << first;
    }
  }
}

// The bias travelled in the mask, and decoding one token has none.
TEST(AttentionFaults, AlibiIsThereWithoutAMask) {
  const Plan plan = plan_of(R"({"method":"alibi","slopes":[0.5]})");
  for (const Mask& mask : {Mask(CausalMask()), Mask(BidirectionalMask())}) {
    AttentionTensors t = weights_of(1, 6, 1);
    AttentionOptions options;
    options.mask = mask;
    ASSERT_TRUE(t.run(plan, options).ok());
    EXPECT_NEAR(t.out.at(0, 0, 0, 5), 0.4141, 5e-5);
  }
}

// Slopes made from the heads of one device: the second half of sixteen heads is not the first half
// of eight.
TEST(AttentionFaults, ShardsOfHeadsHaveTheirOwnSlopes) {
  const Plan whole = plan_of(R"({"method":"alibi","num_heads":16})");
  std::string slopes;
  for (size_t h = 8; h < 16; ++h) {
    slopes += (slopes.empty() ? "" : ",") + std::to_string(whole.distance_bias->slopes[h]);
  }
  const Plan second = plan_of(R"({"method":"alibi","slopes":[)" + slopes + "]}");
  AttentionTensors all = weights_of(1, 40, 16), shard = weights_of(1, 40, 8);
  ASSERT_TRUE(all.run(whole, {}).ok());
  ASSERT_TRUE(shard.run(second, {}).ok());
  for (int64_t h = 0; h < 8; ++h) {
    for (int64_t n = 0; n < 40; ++n) {
      EXPECT_NEAR(shard.out.at(0, 0, h, n), all.out.at(0, 0, h + 8, n), 1e-6);
    }
  }
}

// With a cache the one query was taken for position 0, so every distance was in the wrong bucket.
TEST(AttentionFaults, BucketsGoByThePlaceOfTheQueryInTheCache) {
  const Plan plan = plan_of(R"({"method":"t5_bias","num_heads":1,"bidirectional":false})");
  std::vector<float> buckets(32);
  for (size_t b = 0; b < buckets.size(); ++b) buckets[b] = 0.1f * static_cast<float>(b);
  AttentionTensors t = weights_of(1, 200, 1);
  AttentionOptions options;
  options.learned.buckets = buckets;
  ASSERT_TRUE(t.run(plan, options).ok());
  const auto ratio = [&](int64_t n) {
    return std::log(t.out.at(0, 0, 0, n) / t.out.at(0, 0, 0, 199));
  };
  for (const int64_t distance : {0, 1, 7, 15, 16, 20, 64, 127, 128, 199}) {
    EXPECT_NEAR(ratio(199 - distance),
                0.1 * static_cast<double>(plan.distance_bias->bucket(distance)), 2e-5)
        << distance;
  }
}

// Positions alone do not part packed sequences: what the first one says must not reach the second,
// not by a bit.
TEST(AttentionFaults, PackedSequencesDoNotHearEachOther) {
  const std::vector<int64_t> cu_seqlens{0, 20, 45};
  const PackedIds packed = packed_ids(cu_seqlens).value();
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":16,"layout":"half_split","base":10000})");
  AttentionOptions options;
  options.query_positions = options.key_positions = PositionView::shared_ids(packed.ids);
  options.query_segments = options.key_segments =
      SegmentView::contiguous(packed.segments.data(), 1, 45);
  AttentionTensors before({45, 45, 2, 1, 16, 16}), after({45, 45, 2, 1, 16, 16});
  for (testing::Heads* heads : {&after.q, &after.k, &after.v}) {
    const HeadsView view = heads->view();
    for (int64_t i = 0; i < 20 * view.length_stride; ++i) static_cast<float*>(view.data)[i] += 3;
  }
  ASSERT_TRUE(before.run(plan, options).ok());
  ASSERT_TRUE(after.run(plan, options).ok());
  for (int64_t i = 0; i < 45; ++i) {
    for (int64_t h = 0; h < 2; ++h) {
      const bool same = before.out.at(0, i, h, 0) == after.out.at(0, i, h, 0);
      EXPECT_EQ(same, i >= 20) << i;
    }
  }
}

// Two equal documents in one row gave different outputs, because positions ran on.
TEST(AttentionFaults, EqualDocumentsGiveEqualOutputs) {
  const std::vector<int64_t> cu_seqlens{0, 20, 40};
  const PackedIds packed = packed_ids(cu_seqlens).value();
  for (const auto& method : testing::attention_methods(16, 2)) {
    AttentionTensors t({40, 40, 2, 1, 16, 16});
    const auto c = testing::case_of(method, {40, 40, 2, 1, 16, 16}, 0);
    for (testing::Heads* heads : {&t.q, &t.k, &t.v}) {
      const HeadsView view = heads->view();
      auto* lanes = static_cast<float*>(view.data);
      std::copy_n(lanes, 20 * view.length_stride, lanes + 20 * view.length_stride);
    }
    AttentionOptions options;
    options.learned = {c.buckets, c.key_rows, c.value_rows};
    options.query_positions = options.key_positions = PositionView::shared_ids(packed.ids);
    options.query_segments = options.key_segments =
        SegmentView::contiguous(packed.segments.data(), 1, 40);
    ASSERT_TRUE(t.run(make_plan(c.spec, 40).value(), options).ok());
    for (int64_t i = 0; i < 20; ++i) {
      for (int64_t lane = 0; lane < 16; ++lane) {
        EXPECT_NEAR(t.out.at(0, i, 1, lane), t.out.at(0, i + 20, 1, lane), 2e-6) << method.name;
      }
    }
  }
}

// A cache of five and one new token: the query stands at 5, not at 0. Drafts after seven tokens
// stand at 7 and 8.
TEST(AttentionFaults, NewTokensStandAfterTheCache) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":16,"layout":"interleaved","base":10000})");
  for (const auto& [keys, queries] :
       std::vector<std::pair<int64_t, int64_t>>{{6, 1}, {9, 2}, {300, 1}, {300, 40}}) {
    AttentionTensors by_default({queries, keys, 2, 1, 16, 16}), said({queries, keys, 2, 1, 16, 16});
    AttentionTensors at_zero({queries, keys, 2, 1, 16, 16});
    ASSERT_TRUE(by_default.run(plan, {}).ok());
    AttentionOptions options;
    options.query_positions = PositionView::range(keys - queries);
    ASSERT_TRUE(said.run(plan, options).ok());
    EXPECT_EQ(by_default.out, said.out);
    options.query_positions = PositionView::range(0);
    options.mask = BidirectionalMask();
    ASSERT_TRUE(at_zero.run(plan, options).ok());
    EXPECT_FALSE(by_default.out == at_zero.out);
  }
}

// One new token for each of two sequences: only the first was served, or both by one offset.
TEST(AttentionFaults, EverySequenceOfABatchHasItsOwnPlace) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":16,"layout":"half_split","base":10000})");
  const std::vector<int64_t> places{3, 7};
  // Eight keys of room; the first sequence has four of them.
  std::vector<int64_t> keys;
  std::vector<SegmentId> segments;
  for (const int64_t place : places) {
    for (int64_t n = 0; n < 8; ++n) {
      keys.push_back(n);
      segments.push_back(n <= place ? SegmentId(1) : SegmentId::padding);
    }
  }
  const std::vector<SegmentId> one(2, SegmentId(1));
  AttentionOptions options;
  options.query_positions = PositionView::starts(places);
  options.key_positions = PositionView::ids(keys.data(), 2, 8);
  options.query_segments = SegmentView::contiguous(one.data(), 2, 1);
  options.key_segments = SegmentView::contiguous(segments.data(), 2, 8);
  const AttentionShape s{1, 8, 2, 1, 16, 16, DType::float32, DType::float32, DType::float32, 2};
  AttentionTensors together(s), alone(s);
  ASSERT_TRUE(together.run(plan, options).ok());
  for (int64_t b = 0; b < 2; ++b) {
    const auto part = [&](HeadsView view, int64_t length) {
      view.data = static_cast<float*>(view.data) + b * view.batch_stride;
      view.batch = 1;
      view.length = length;
      return view;
    };
    const int64_t length = places[static_cast<size_t>(b)] + 1;
    ASSERT_TRUE(attention(plan, part(alone.q.view(), 1), part(alone.k.view(), length),
                          part(alone.v.view(), length), part(alone.out.view(), 1))
                    .ok());
  }
  EXPECT_EQ(together.out, alone.out);
}

}  // namespace
}  // namespace hodometer
