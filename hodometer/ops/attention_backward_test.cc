#include "hodometer/ops/attention_backward.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hodometer/ops/attention_gradients_test.h"

namespace hodometer {
namespace {

using testing::attention_methods;
using testing::AttentionCase;
using testing::AttentionMethod;
using testing::AttentionShape;
using testing::case_of;
using testing::expect_gradients;
using testing::GradientCase;
using testing::Heads;
using testing::lanes_of;
using testing::mask_cases;
using testing::MaskCase;
using testing::seen_by;

AttentionCase masked(const AttentionMethod& method, const AttentionShape& s, const Mask& mask) {
  AttentionCase c = case_of(method, s, 50);
  c.sees = seen_by(mask, c);
  return c;
}

AttentionOptions with_mask(const Mask& mask) {
  AttentionOptions options;
  options.mask = mask;
  return options;
}

TEST(AttentionBackward, EveryMethodUnderEveryMaskAndGroup) {
  for (const auto& [heads, kv_heads] :
       std::vector<std::pair<int64_t, int64_t>>{{3, 3}, {6, 2}, {5, 1}}) {
    const AttentionShape s{13, 19, heads, kv_heads, 10, 7};
    for (const AttentionMethod& method : attention_methods(s.head_dim, heads)) {
      for (const MaskCase& mask : mask_cases) {
        expect_gradients(s, masked(method, s, mask.mask), with_mask(mask.mask),
                         method.name + " " + mask.name + " " + std::to_string(kv_heads));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The other way to sum, which 16-bit gradients take.
TEST(AttentionBackward, EveryMethodIntoShortTypes) {
  for (const DType type : {DType::bfloat16, DType::float16}) {
    const AttentionShape s{13, 19, 4, 2, 10, 7};
    for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
      expect_gradients(s, masked(method, s, CausalMask()), {}, method.name, type);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(AttentionBackward, EveryTypeOfInputs) {
  const DType types[] = {DType::float32, DType::bfloat16, DType::float16};
  for (const DType query : types) {
    for (const DType key : types) {
      for (const DType out : types) {
        const AttentionShape s{9, 12, 4, 2, 10, 7, query, key, out, 2};
        expect_gradients(s, masked(attention_methods(10, 4)[1], s, CausalMask()), {},
                         std::string(dtype_name(query)) + " " + std::string(dtype_name(key)) + " " +
                             std::string(dtype_name(out)),
                         key);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Several parts of queries and keys, blocks and tiles.
TEST(AttentionBackward, LongSequences) {
  for (const AttentionMethod& method : attention_methods(6, 2)) {
    if (method.name != "rotary" && method.name != "t5" && method.name != "shaw with values") {
      continue;
    }
    const AttentionShape s{430, 801, 2, 1, 6, 3};
    for (const MaskCase& mask : {mask_cases[0], mask_cases[2]}) {
      expect_gradients(s, masked(method, s, mask.mask), with_mask(mask.mask),
                       method.name + " " + mask.name);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(AttentionBackward, PackedSequences) {
  std::vector<int64_t> positions;
  std::vector<SegmentId> segments;
  for (const int64_t length : {4, 11, 6}) {
    for (int64_t i = 0; i < length; ++i) {
      positions.push_back(i);
      segments.push_back(SegmentId(length));
    }
  }
  const AttentionShape s{21, 21, 4, 2, 10, 7};
  for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
    AttentionCase c = case_of(method, s, 0);
    c.query_positions = c.key_positions = positions;
    AttentionOptions options;
    options.query_segments = options.key_segments = SegmentView::contiguous(segments.data(), 1, 21);
    c.sees = [&](int64_t query, int64_t key) {
      return segments[static_cast<size_t>(query)] == segments[static_cast<size_t>(key)] &&
             key <= query;
    };
    expect_gradients(s, c, options, method.name);
    if (HasFatalFailure()) return;
  }
}

TEST(AttentionBackward, SoftCapSinksAndTurnedKeys) {
  const AttentionShape s{13, 19, 4, 2, 10, 7, DType::float32, DType::float32, DType::float32, 2};
  for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
    AttentionCase c = masked(method, s, CausalMask());
    c.sinks = {0.3f, -1.0f, 2.0f, 0.0f};
    expect_gradients(s, c, {}, method.name + " with sinks");
    if (method.table_rows == 0) {
      c.soft_cap = 0.8;
      expect_gradients(s, c, {}, method.name + " with cap and sinks");
    }
    c.soft_cap = 0;
    c.keys = KeyState::turned;
    expect_gradients(s, c, {}, method.name + " with turned keys");
    if (HasFatalFailure()) return;
  }
}

TEST(AttentionBackward, QueriesAndKeysThatSeeNothingHaveZeros) {
  for (const DType type : {DType::float32, DType::bfloat16}) {
    const AttentionShape s{6, 8, 2, 1, 10, 7};
    AttentionCase c = case_of(attention_methods(10, 2)[1], s, 0);
    c.query_positions = {-5, -4, 0, 1, 2, 3};
    AttentionOptions options;
    GradientCase g(s, c, options, type);
    ASSERT_TRUE(g.forward().ok());
    ASSERT_TRUE(g.backward(g.gradients()).ok());
    for (int64_t lane = 0; lane < 10; ++lane) {
      for (int64_t h = 0; h < 2; ++h) {
        EXPECT_EQ(g.dq.at(0, 0, h, lane), 0);
        EXPECT_EQ(g.dq.at(0, 1, h, lane), 0);
      }
      for (int64_t n = 4; n < 8; ++n) EXPECT_EQ(g.dk.at(0, n, 0, lane), 0);
    }
    EXPECT_NE(g.dk.at(0, 3, 0, 0), 0);
  }
}

TEST(AttentionBackward, TheSameBitsForAnyExecutor) {
  const auto threads = make_executor(5);
  for (const DType type : {DType::float32, DType::float16}) {
    const AttentionShape s{411, 900, 4, 2, 10, 7, DType::float32, DType::float32, DType::float32,
                           2};
    for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
      SCOPED_TRACE(method.name);
      AttentionCase c = masked(method, s, CausalMask());
      c.sinks = {0.3f, -1.0f, 2.0f, 0.0f};
      GradientCase one(s, c, {}, type), many(s, c, {}, type);
      ASSERT_TRUE(one.forward().ok());
      ASSERT_TRUE(many.forward().ok());
      ASSERT_TRUE(one.backward(one.gradients()).ok());
      ASSERT_TRUE(many.backward(many.gradients(), *threads).ok());
      EXPECT_TRUE(one.dq == many.dq);
      EXPECT_TRUE(one.dk == many.dk);
      EXPECT_TRUE(one.dv == many.dv);
      EXPECT_EQ(one.buckets, many.buckets);
      EXPECT_EQ(one.key_rows, many.key_rows);
      EXPECT_EQ(one.value_rows, many.value_rows);
      EXPECT_EQ(one.sinks, many.sinks);
    }
  }
}

TEST(AttentionBackward, WhatIsNotWantedIsLeftOut) {
  const AttentionShape s{13, 19, 4, 2, 10, 7};
  for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
    SCOPED_TRACE(method.name);
    const AttentionCase c = masked(method, s, CausalMask());
    for (const DType type : {DType::float32, DType::bfloat16}) {
      GradientCase all(s, c, {}, type), one(s, c, {}, type);
      ASSERT_TRUE(all.forward().ok() && one.forward().ok());
      ASSERT_TRUE(all.backward(all.gradients()).ok());
      ASSERT_TRUE(one.backward({.q = one.dq.view()}).ok());
      ASSERT_TRUE(one.backward({.k = one.dk.view()}).ok());
      ASSERT_TRUE(one.backward({.v = one.dv.view()}).ok());
      ASSERT_TRUE(one.backward({.buckets = one.buckets}).ok());
      ASSERT_TRUE(one.backward({.value_rows = one.value_rows}).ok());
      ASSERT_TRUE(one.backward({}).ok());
      EXPECT_EQ(all.buckets, one.buckets);
      EXPECT_EQ(all.value_rows, one.value_rows);
      EXPECT_TRUE(all.dq == one.dq || method.bucket_rows > 0);  // sums in another order
      EXPECT_TRUE(all.dk == one.dk || method.bucket_rows > 0);
      EXPECT_TRUE(all.dv == one.dv || method.bucket_rows > 0);
    }
  }
}

TEST(AttentionBackward, NoTokensAreFine) {
  for (const auto& [q_length, k_length] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 9}, {0, 0}}) {
    for (const DType type : {DType::float32, DType::float16}) {
      const AttentionShape s{q_length, k_length, 4, 2, 10, 7};
      GradientCase g(s, case_of(attention_methods(10, 4)[1], {1, 1, 4, 2, 10, 7}, 0), {}, type);
      g.options.query_positions.reset();
      g.options.key_positions.reset();
      ASSERT_TRUE(g.backward(g.gradients()).ok());
      for (const float lane : lanes_of(g.dv)) EXPECT_EQ(lane, 0);
    }
  }
}

TEST(AttentionBackward, SaysWhatIsWrong) {
  const AttentionShape s{5, 9, 4, 2, 10, 7};
  GradientCase g(s, masked(attention_methods(10, 4)[1], s, CausalMask()), {});
  ASSERT_TRUE(g.forward().ok());
  const auto message = [&](const AttentionGradients& to) {
    const Status status = g.backward(to);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(message({.q = g.dk.view()}),
            "attention_backward: gradients.q is [1, 9, 2, 10]: expected [1, 5, 4, 10]");
  EXPECT_EQ(message({.v = g.dk.view()}),
            "attention_backward: gradients.v is [1, 9, 2, 10]: expected [1, 9, 2, 7]");
  std::vector<float> some(4);
  EXPECT_EQ(message({.buckets = some}),
            "attention_backward: gradients.buckets has 4 values: expected 0, or none");
  EXPECT_EQ(message({.sinks = some}),
            "attention_backward: gradients.sinks has 4 values: expected 0, or none");
  const Status no_sums =
      attention_backward(g.plan, g.t.q.view(), g.t.k.view(), g.t.v.view(), g.t.out.view(),
                         g.out_gradient.view(), nullptr, g.gradients(), g.options);
  ASSERT_FALSE(no_sums.ok());
  EXPECT_EQ(no_sums.error().message,
            "attention_backward: no log_sums: expected what attention() wrote");
  const Status shape =
      attention_backward(g.plan, g.t.q.view(), g.t.k.view(), g.t.v.view(), g.t.out.view(),
                         g.dq.view(), g.t.log_sums.data(), g.gradients(), g.options);
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.error().message,
            "attention_backward: out_gradient is [1, 5, 4, 10]: expected [1, 5, 4, 7]");
}

// Doubling is exact, so that the bits of all gradients double with those of the output.
RC_GTEST_PROP(AttentionBackward, IsLinearInTheOutputsGradient, ()) {
  const int64_t group = *rc::gen::inRange<int64_t>(1, 4);
  const int64_t kv_heads = *rc::gen::inRange<int64_t>(1, 3);
  const int64_t k_length = *rc::gen::inRange<int64_t>(1, 60);
  const AttentionShape s{*rc::gen::inRange<int64_t>(1, k_length + 1),
                         k_length,
                         group * kv_heads,
                         kv_heads,
                         2 * *rc::gen::inRange<int64_t>(2, 20),
                         *rc::gen::inRange<int64_t>(1, 40)};
  const auto methods = attention_methods(s.head_dim, s.num_heads);
  const AttentionMethod& method = methods[*rc::gen::inRange<size_t>(0, methods.size())];
  const AttentionCase c = masked(method, s, CausalMask());
  GradientCase once(s, c, {}), twice(s, c, {});
  RC_ASSERT(once.forward().ok());
  RC_ASSERT(twice.forward().ok());
  auto* lanes = static_cast<float*>(twice.out_gradient.view().data);
  for (int64_t i = 0; i < twice.out_gradient.elements(); ++i) lanes[i] *= 2;
  RC_ASSERT(once.backward(once.gradients()).ok());
  RC_ASSERT(twice.backward(twice.gradients()).ok());
  const auto expect_double = [](const std::vector<float>& a, const std::vector<float>& b) {
    for (size_t i = 0; i < a.size(); ++i) RC_ASSERT(2 * a[i] == b[i]);
  };
  expect_double(lanes_of(once.dq), lanes_of(twice.dq));
  expect_double(lanes_of(once.dk), lanes_of(twice.dk));
  expect_double(lanes_of(once.dv), lanes_of(twice.dv));
  expect_double(once.buckets, twice.buckets);
  expect_double(once.key_rows, twice.key_rows);
  expect_double(once.value_rows, twice.value_rows);
}

}  // namespace
}  // namespace hodometer
