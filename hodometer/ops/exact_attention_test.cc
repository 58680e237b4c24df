#include "hodometer/ops/exact_attention.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::spec_of;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Numbers in [-2, 2) that are float32, so that every operation reads the same.
std::vector<double> random_numbers(int64_t count, uint64_t seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values.push_back(
        static_cast<double>(static_cast<float>(static_cast<double>(seed >> 11) * 0x1p-51 - 2)));
  }
  return values;
}

std::vector<float> floats(std::span<const double> values) {
  std::vector<float> result;
  for (const double value : values) result.push_back(static_cast<float>(value));
  return result;
}

/// Tensors with memory of their own.
struct Tensor {
  std::vector<double> values;
  int64_t length, heads, head_dim;

  static Tensor random(int64_t length, int64_t heads, int64_t head_dim, uint64_t seed) {
    return {random_numbers(length * heads * head_dim, seed), length, heads, head_dim};
  }
  ExactHeads view() const { return {values, length, heads, head_dim}; }
  /// Token i of the result is token order[i].
  Tensor permuted(const std::vector<int64_t>& order) const {
    Tensor result{{}, length, heads, head_dim};
    for (const int64_t from : order) {
      const auto first = values.begin() + from * heads * head_dim;
      result.values.insert(result.values.end(), first, first + heads * head_dim);
    }
    return result;
  }
};

/// One head of one lane: as many equal scores as there are keys.
ExactAttention equal_scores(const std::string& spec, int64_t keys,
                            const ExactAttentionOptions& options = {}) {
  const Tensor q{{0}, 1, 1, 1};
  const Tensor k{std::vector<double>(static_cast<size_t>(keys)), keys, 1, 1};
  Tensor v = k;
  std::iota(v.values.begin(), v.values.end(), 0.0);
  const auto result = exact_attention(spec_of(spec), keys, q.view(), k.view(), v.view(), options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result : ExactAttention{};
}

TEST(ExactAttention, AlibiFallsOffWithTheDistance) {
  const auto result = equal_scores(R"({"method":"alibi","slopes":[0.5]})", 6);
  const std::vector<double> wanted = {3.4, 5.6, 9.2, 15.2, 25.1, 41.4};
  ASSERT_EQ(result.weights.size(), 6U);
  double sum = 0;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(100 * result.weights[i], wanted[i], 0.05);
    sum += std::exp(-0.5 * static_cast<double>(i));
  }
  EXPECT_NEAR(result.log_sums[0], std::log(sum), 1e-15);
}

TEST(ExactAttention, MasksSegmentsAndSinksTakeKeysAway) {
  const std::string nope = R"({"method":"nope"})";
  EXPECT_EQ(equal_scores(nope, 4).weights, (std::vector<double>{.25, .25, .25, .25}));
  EXPECT_EQ(equal_scores(nope, 4, {.mask = sliding_window(2)}).weights,
            (std::vector<double>{0, 0, .5, .5}));
  const std::vector<SegmentId> query_segment = {SegmentId(2)};
  const std::vector<SegmentId> segments = {SegmentId(2), SegmentId(1), SegmentId::padding,
                                           SegmentId(2)};
  EXPECT_EQ(equal_scores(nope, 4, {.query_segments = query_segment, .key_segments = segments}).out,
            (std::vector<double>{1.5}));
  const std::vector<double> sinks = {std::log(4.0)};
  EXPECT_NEAR(equal_scores(nope, 4, {.sinks = sinks}).weights[2], 0.125, 1e-16);

  const std::vector<SegmentId> padding = {SegmentId::padding};
  const auto nothing = equal_scores(nope, 4, {.query_segments = padding, .key_segments = segments});
  EXPECT_EQ(nothing.out, std::vector<double>{0});
  EXPECT_EQ(nothing.weights, (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(nothing.log_sums, std::vector<double>{-infinite});
}

TEST(ExactAttention, TheCapComesBeforeTheBias) {
  const Tensor q{{1}, 1, 1, 1}, k{{30, 0}, 2, 1, 1}, v{{1, 0}, 2, 1, 1};
  const auto result = exact_attention(spec_of(R"({"method":"alibi","slopes":[0.5]})"), 2, q.view(),
                                      k.view(), v.view(), {.soft_cap = 2});
  ASSERT_TRUE(result.ok());
  const double far = std::exp(2 * std::tanh(15.0) - 0.5);
  EXPECT_NEAR(result->out[0], far / (far + 1), 1e-15);
}

TEST(ExactAttention, ShawAddsRowsToKeysAndValues) {
  const Tensor q{{2}, 1, 1, 1}, k{{0, 0, 0}, 3, 1, 1}, v{{0, 0, 0}, 3, 1, 1};
  const std::vector<double> key_rows = {0.5, 0, 7}, value_rows = {10, 20, 30};
  ExactAttentionOptions options;
  options.key_rows = {key_rows, 3, 1};
  options.value_rows = {value_rows, 3, 1};
  const auto result =
      exact_attention(spec_of(R"({"method":"shaw","max_distance":1,"values":true})"), 3, q.view(),
                      k.view(), v.view(), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const double e = std::exp(1.0);
  EXPECT_NEAR(result->weights[0], e / (2 * e + 1), 1e-15);
  EXPECT_NEAR(result->out[0], (2 * e * 10 + 20) / (2 * e + 1), 1e-14);
}

TEST(ExactAttention, ScoresOfRotaryDependOnTheDistanceAtTheEndOfTheLine) {
  const Tensor q = Tensor::random(1, 1, 8, 1), k = Tensor::random(3, 1, 8, 2),
               v = Tensor::random(3, 1, 8, 3);
  const auto spec =
      spec_of(R"({"method":"rotary","head_dim":8,"layout":"interleaved","base":10000})");
  const auto near = exact_attention(spec, max_position + 1, q.view(), k.view(), v.view());
  ExactAttentionOptions options;
  options.query_positions = PositionView::range(max_position);
  options.key_positions = PositionView::range(max_position - 2);
  const auto far = exact_attention(spec, max_position + 1, q.view(), k.view(), v.view(), options);
  ASSERT_TRUE(near.ok() && far.ok());
  for (size_t lane = 0; lane < 8; ++lane) EXPECT_NEAR(near->out[lane], far->out[lane], 1e-14);
}

RC_GTEST_PROP(ExactAttentionProperties, WithoutAMethodPermutedTokensGivePermutedOutputs,
              (uint64_t seed)) {
  const auto length = *rc::gen::inRange<int64_t>(1, 12);
  const auto kv_heads = *rc::gen::inRange<int64_t>(1, 3);
  const auto heads = kv_heads * *rc::gen::inRange<int64_t>(1, 3);
  const auto head_dim = *rc::gen::inRange<int64_t>(1, 9);
  std::vector<int64_t> order(static_cast<size_t>(length));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[*rc::gen::inRange<size_t>(0, i)]);
  }
  const Tensor q = Tensor::random(length, heads, head_dim, seed),
               k = Tensor::random(length, kv_heads, head_dim, seed + 1),
               v = Tensor::random(length, kv_heads, 5, seed + 2);
  const auto run = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return exact_attention(PositionSpec{}, length, a.view(), b.view(), c.view(),
                           {.mask = BidirectionalMask()})
        .value();
  };
  const Tensor out{run(q, k, v).out, length, heads, 5};
  const auto permuted = run(q.permuted(order), k.permuted(order), v.permuted(order)).out;
  const auto wanted = out.permuted(order).values;
  for (size_t i = 0; i < wanted.size(); ++i) {
    RC_ASSERT(std::bit_cast<uint64_t>(permuted[i]) == std::bit_cast<uint64_t>(wanted[i]));
  }
}

/// A method with as many rows of learned tables as it needs.
struct Method {
  std::string text;
  int64_t buckets = 0;
  int64_t key_rows = 0;
  int64_t value_rows = 0;
};

std::vector<Method> methods(int64_t head_dim, int64_t heads) {
  const std::string dim = std::to_string(head_dim), num_heads = std::to_string(heads);
  const std::string turns = R"("head_dim":)" + dim + R"(,"base":10000,"layout":)";
  const std::string rotary = R"({"method":"rotary",)" + turns;
  return {
      {R"({"method":"nope"})"},
      {rotary + R"("half_split"})"},
      {rotary + R"("interleaved","rotary_dim":4,"rotary_start":2})"},
      {rotary + R"("half_split","schedule":{"rope_type":"yarn","factor":4,
                  "original_max_position_embeddings":4096}})"},
      {R"({"method":"mrope",)" + turns +
       R"("half_split","mrope_section":[2,1,1],"section_layout":"chunked"})"},
      {R"({"method":"axial_rotary",)" + turns + R"("half_split","axis_layout":"blocks"})"},
      {R"({"method":"xpos",)" + turns + R"("interleaved","scale_base":512})"},
      {R"({"method":"alibi","num_heads":)" + num_heads + "}"},
      {R"({"method":"t5_bias","bidirectional":true,"num_heads":)" + num_heads + "}", 32},
      {R"({"method":"t5_bias","bidirectional":false,"num_heads":)" + num_heads + "}", 32},
      {R"({"method":"shaw","max_distance":3})", 0, 7},
      {R"({"method":"shaw","max_distance":2,"values":true})", 0, 5, 5},
      {R"({"method":"nope","logit_scale":[{"rule":"temperature","beta":0.1,
          "floor_scale":4,"offset":1}]})"},
  };
}

rc::Gen<Mask> any_mask() {
  return rc::gen::map(rc::gen::inRange(0, 5), [](int which) -> Mask {
    const std::vector<Mask> masks = {CausalMask(), BidirectionalMask(), sliding_window(3),
                                     ChunkedMask{4}, PrefixMask{2}};
    return masks[static_cast<size_t>(which)];
  });
}

RC_GTEST_PROP(ExactAttentionProperties, AttentionAgrees, (uint64_t seed)) {
  const auto k_length = *rc::gen::inRange<int64_t>(1, 14);
  const auto q_length = *rc::gen::inRange<int64_t>(1, k_length + 1);
  const auto kv_heads = *rc::gen::inRange<int64_t>(1, 3);
  const auto heads = kv_heads * *rc::gen::inRange<int64_t>(1, 3);
  const int64_t head_dim = 8, value_dim = 5;
  const Tensor q = Tensor::random(q_length, heads, head_dim, seed),
               k = Tensor::random(k_length, kv_heads, head_dim, seed + 1),
               v = Tensor::random(k_length, kv_heads, value_dim, seed + 2);
  const auto mask = *any_mask();
  const bool has_sinks = *rc::gen::arbitrary<bool>(), has_segments = *rc::gen::arbitrary<bool>();
  const bool caps = *rc::gen::arbitrary<bool>(), are_turned = *rc::gen::arbitrary<bool>();
  const auto sinks = random_numbers(has_sinks ? heads : 0, seed + 3);
  const std::vector<float> q32 = floats(q.values), k32 = floats(k.values), v32 = floats(v.values),
                           sinks32 = floats(sinks);
  std::vector<SegmentId> segments;
  for (int64_t n = 0; n < k_length; ++n) {
    segments.push_back(SegmentId(n == 0 ? 0 : 1 + n * 2 / k_length));
  }
  const std::span<const SegmentId> of_keys = segments;
  const auto of_queries = of_keys.last(static_cast<size_t>(q_length));

  for (const Method& method : methods(head_dim, heads)) {
    const auto buckets = random_numbers(method.buckets * heads, seed + 4);
    const auto key_rows = random_numbers(method.key_rows * head_dim, seed + 5);
    const auto value_rows = random_numbers(method.value_rows * value_dim, seed + 6);
    const auto buckets32 = floats(buckets), key_rows32 = floats(key_rows),
               value_rows32 = floats(value_rows);
    ExactAttentionOptions exact;
    AttentionOptions fast;
    exact.mask = fast.mask = mask;
    exact.keys = fast.keys = are_turned ? KeyState::turned : KeyState::unturned;
    if (caps && method.key_rows == 0) exact.soft_cap = fast.soft_cap = 1.5;
    exact.sinks = sinks;
    fast.sinks = sinks32;
    if (method.buckets > 0) exact.buckets = {buckets, method.buckets, heads};
    if (method.key_rows > 0) exact.key_rows = {key_rows, method.key_rows, head_dim};
    if (method.value_rows > 0) exact.value_rows = {value_rows, method.value_rows, value_dim};
    fast.learned = {buckets32, key_rows32, value_rows32};
    if (has_segments) {
      exact.key_segments = of_keys;
      exact.query_segments = of_queries;
      fast.key_segments = SegmentView::contiguous(of_keys.data(), 1, k_length);
      fast.query_segments = SegmentView::contiguous(of_queries.data(), 1, q_length);
    }
    const PositionSpec spec = spec_of(method.text);
    const auto wanted = exact_attention(spec, k_length, q.view(), k.view(), v.view(), exact);
    RC_ASSERT(wanted.ok());
    std::vector<float> out(wanted->out.size()), log_sums(wanted->log_sums.size());
    fast.log_sums = log_sums.data();
    const auto view = [](const std::vector<float>& values, const Tensor& shape) {
      return HeadsView::bshd(const_cast<float*>(values.data()), DType::float32, 1, shape.length,
                             shape.heads, shape.head_dim);
    };
    const Status done =
        attention(make_plan(spec, k_length).value(), view(q32, q), view(k32, k), view(v32, v),
                  HeadsView::bshd(out.data(), DType::float32, 1, q_length, heads, value_dim), fast);
    RC_ASSERT(done.ok());
    for (size_t i = 0; i < out.size(); ++i) {
      if (std::abs(double{out[i]} - wanted->out[i]) <= 3e-6) continue;
      RC_FAIL(method.text + ": " + std::to_string(out[i]) + " is not " +
              std::to_string(wanted->out[i]));
    }
    for (size_t i = 0; i < log_sums.size(); ++i) {
      const double log_sum = wanted->log_sums[i];
      const bool equal = double{log_sums[i]} == log_sum;  // both are -inf where nothing is seen
      RC_ASSERT(equal || std::abs(double{log_sums[i]} - log_sum) < 3e-6 * (1 + std::abs(log_sum)));
    }
  }
}

/// Why a call is refused; q, k and v are 2 tokens of 2 heads of 4 lanes unless they are changed.
struct Faulty {
  std::string spec = R"({"method":"nope"})";
  Tensor q = Tensor::random(2, 2, 4, 1), k = Tensor::random(2, 2, 4, 2),
         v = Tensor::random(2, 2, 4, 3);
  ExactAttentionOptions options = {};

  Error error() const {
    auto result = exact_attention(spec_of(spec), 16, q.view(), k.view(), v.view(), options);
    return result.ok() ? Error{ErrorKind::io, "accepted"} : result.error();
  }
};

void expect_refusal(const Faulty& call, const std::string& part,
                    ErrorKind kind = ErrorKind::usage) {
  const Error error = call.error();
  EXPECT_EQ(error.kind, kind) << error.message;
  EXPECT_NE(error.message.find(part), std::string::npos)
      << "no '" << part << "' in: " << error.message;
}

TEST(ExactAttention, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(Faulty().error().message, "accepted");
  expect_refusal({.k = Tensor::random(2, 2, 3, 1)}, "head_dim of q is 4 and of k 3");
  expect_refusal({.v = Tensor::random(3, 2, 4, 1)}, "v is [3, 2, 4]: expected [2, 2, 4]");
  expect_refusal({.q = Tensor::random(2, 3, 4, 1)}, "3 heads of q over 2 of k");
  expect_refusal({.q = Tensor::random(3, 2, 4, 1)}, "expected query_positions");
  expect_refusal({.q = {{1, 2}, 2, 2, 4}}, "q has 2 values: expected [2, 2, 4]");
  expect_refusal({.q = Tensor::random(2, 0, 4, 1),
                  .k = Tensor::random(2, 0, 4, 1),
                  .v = Tensor::random(2, 0, 4, 1)},
                 "0 heads");
  expect_refusal({.spec = R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000})"},
                 "head_dim is 4: expected the plan's 8");
  expect_refusal({.spec = R"({"method":"alibi","num_heads":4})"},
                 "q has 2 heads: expected the plan's 4");
  expect_refusal({.spec = R"({"method":"t5_bias","num_heads":2,"bidirectional":true})"},
                 "buckets is [0, 0]: expected [32, 2] (num_buckets, num_heads)");
  expect_refusal({.spec = R"({"method":"shaw","max_distance":1})"},
                 "key_rows is [0, 0]: expected [3, 4] (num_rows, head_dim)");
  const std::vector<double> row = {1, 2, 3, infinite};
  expect_refusal({.options = {.buckets = {row, 2, 2}}}, "buckets is [2, 2]: expected [0, 0]");
  expect_refusal({.options = {.sinks = row}}, "sinks has 4 values: expected 2");
  expect_refusal({.options = {.sinks = std::span(row).last(2)}}, "sinks[1] is inf");
  expect_refusal({.options = {.mask = ChunkedMask{0}}}, "the mask's size is 0");
  expect_refusal({.options = {.scale = infinite}}, "scale is inf");
  expect_refusal({.options = {.soft_cap = -1}}, "soft_cap is -1");
  const std::vector<SegmentId> three(3, SegmentId(1));
  expect_refusal({.options = {.key_segments = three}}, "expected both");
  expect_refusal({.options = {.query_segments = three, .key_segments = three}},
                 "query_segments are [3]: expected [2]");
  const std::vector<SegmentId> negative(2, SegmentId(-4));
  expect_refusal({.options = {.query_segments = negative, .key_segments = negative}},
                 "query_segments[0] is -4: expected 0 (padding) or above");
  expect_refusal({.options = {.key_positions = PositionView::range(max_position)}},
                 "key_positions: position 2147483648", ErrorKind::limit);
  const std::vector<double> halves = {0, 0.5};
  expect_refusal({.spec = R"({"method":"alibi","num_heads":2})",
                  .options = {.key_positions = PositionView::coordinates(halves.data(), 1, 1, 2)}},
                 "whole numbers");
}

TEST(ExactAttention, RefusesMethodsThatActBeforeAttention) {
  expect_refusal({.spec = R"({"method":"sinusoidal","dim":8,"layout":"halves"})"}, "sinusoidal",
                 ErrorKind::unsupported);
  expect_refusal({.spec = R"({"method":"learned","dim":8,"max_position_embeddings":8})"}, "learned",
                 ErrorKind::unsupported);
}

TEST(ExactAttention, NamesTheNumberThatIsNone) {
  Faulty call;
  call.v.values[13] = std::nan("");
  expect_refusal(call, "v[1][1][1] is nan: expected a finite number");
  call = Faulty();
  call.q.values[0] = 1e200;
  call.k.values[0] = 1e200;
  expect_refusal(call, "the score of query 0, key 0, head 0 is");
  call = Faulty();
  call.q = Tensor::random(3000, 1, 1, 1);
  call.k = Tensor::random(3000, 1, 1, 2);
  call.v = Tensor::random(3000, 1, 1, 3);
  expect_refusal(call, "3000 queries, 3000 keys");
}

}  // namespace
}  // namespace hodometer
