#pragma once

// Private: cases of attention that several tests share, and their comparison with the reference.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/ops/attention_reference_test.h"

namespace hodometer::testing {

inline std::vector<float> random_floats(int64_t count, uint64_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<float>(static_cast<double>(seed >> 11) * 0x1p-52 - 1));
  }
  return values;
}

inline std::vector<int64_t> run_of(int64_t first, int64_t count) {
  std::vector<int64_t> run;
  for (int64_t i = 0; i < count; ++i) run.push_back(first + i);
  return run;
}

struct AttentionShape {
  int64_t q_length, k_length, num_heads, num_kv_heads, head_dim, value_dim;
  DType query = DType::float32, key = DType::float32, out = DType::float32;
  int64_t batch = 1;
};

/// The tensors of a case, and what comes out.
struct AttentionTensors {
  explicit AttentionTensors(const AttentionShape& s)
      : q(Heads::bshd(s.query, s.batch, s.q_length, s.num_heads, s.head_dim, 1)),
        k(Heads::bshd(s.key, s.batch, s.k_length, s.num_kv_heads, s.head_dim, 2)),
        v(Heads::bshd(s.key, s.batch, s.k_length, s.num_kv_heads, s.value_dim, 3)),
        out(Heads::bshd(s.out, s.batch, s.q_length, s.num_heads, s.value_dim, 4)),
        log_sums(static_cast<size_t>(s.batch * s.q_length * s.num_heads), 7.0f) {}
  Status run(const Plan& plan, AttentionOptions options, Executor& executor = serial_executor()) {
    options.log_sums = log_sums.data();
    return attention(plan, q.view(), k.view(), v.view(), out.view(), options, executor);
  }
  Heads q, k, v, out;
  std::vector<float> log_sums;
};

/// `given` with everything that the case says.
inline AttentionOptions options_of(const AttentionCase& c, AttentionOptions given) {
  given.scale = c.scale;
  given.soft_cap = c.soft_cap;
  given.sinks = c.sinks;
  given.learned = {c.buckets, c.key_rows, c.value_rows};
  given.query_positions = PositionView::shared_ids(c.query_positions);
  given.key_positions = PositionView::shared_ids(c.key_positions);
  given.keys = c.keys;
  return given;
}

/// Compares about `rows` queries of every head with the reference.
inline void expect_reference(const AttentionCase& c, const AttentionTensors& t, int64_t rows = 7) {
  const AttentionReference reference(c, t.q, t.k, t.v);
  const HeadsView& shape = t.out.shape();
  const int64_t step = std::max<int64_t>(1, shape.length / rows);
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t i = shape.length - 1; i >= 0; i -= step) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        const AttentionRow row = reference.row(b, i, h);
        const double log_sum = static_cast<double>(
            t.log_sums[static_cast<size_t>((b * shape.length + i) * shape.heads + h)]);
        if (std::isinf(row.log_sum)) {
          ASSERT_EQ(log_sum, row.log_sum);
        } else {
          ASSERT_NEAR(log_sum, row.log_sum, 4e-6 * (1 + std::abs(row.log_sum)));
        }
        const double bound = 3e-6 * (row.largest + 1);
        for (int64_t lane = 0; lane < shape.head_dim; ++lane) {
          const double want = row.out[static_cast<size_t>(lane)];
          ASSERT_NEAR(t.out.at(b, i, h, lane), want, bound + rounding(shape.dtype, want))
              << "batch " << b << " query " << i << " head " << h << " lane " << lane;
        }
      }
    }
  }
}

/// Runs attention and compares some rows of it with the reference.
inline void expect_right(const AttentionShape& s, AttentionCase c, const AttentionOptions& given,
                         const std::string& what) {
  SCOPED_TRACE(what);
  c.scale = 0.5 / std::sqrt(static_cast<double>(s.head_dim));
  AttentionTensors tensors(s);
  const Status done =
      tensors.run(make_plan(c.spec, c.context_length).value(), options_of(c, given));
  ASSERT_TRUE(done.ok()) << done.error().message;
  expect_reference(c, tensors);
}

struct AttentionMethod {
  std::string name, text;
  int64_t bucket_rows = 0;  ///< times num_heads
  int64_t table_rows = 0;
  bool table_values = false;
};

/// Every method that acts in attention.
inline std::vector<AttentionMethod> attention_methods(int64_t head_dim, int64_t num_heads) {
  const std::string dim = std::to_string(head_dim), heads = std::to_string(num_heads);
  const std::string rotary = R"({"method":"rotary","head_dim":)" + dim + R"(,"base":10000,)";
  return {
      {"nope", R"({"method":"nope"})"},
      {"rotary", rotary + R"("layout":"half_split"})"},
      {"partial",
       rotary + R"("layout":"interleaved","rotary_dim":)" + std::to_string(head_dim / 4 * 2) + "}"},
      {"yarn", rotary + R"("layout":"half_split","schedule":{"rope_type":"yarn","factor":4,
                         "original_max_position_embeddings":4096}})"},
      {"xpos", R"({"method":"xpos","head_dim":)" + dim +
                   R"(,"layout":"interleaved","base":10000,"scale_base":200000})"},
      {"alibi", R"({"method":"alibi","num_heads":)" + heads + "}"},
      {"t5", R"({"method":"t5_bias","bidirectional":true,"num_heads":)" + heads + "}", 32},
      {"shaw", R"({"method":"shaw","max_distance":5})", 0, 11},
      {"shaw with values", R"({"method":"shaw","max_distance":4,"values":true})", 0, 9, true},
      {"temperature", R"({"method":"nope","logit_scale":[{"rule":"temperature","beta":0.1,
                          "floor_scale":100,"offset":1}]})"},
  };
}

/// Keys at first_key, ..., and queries at the last of them.
inline AttentionCase case_of(const AttentionMethod& method, const AttentionShape& s,
                             int64_t first_key) {
  AttentionCase c;
  c.spec = *parse_spec(method.text);
  c.context_length = first_key + s.k_length;
  c.key_positions = run_of(first_key, s.k_length);
  c.query_positions = run_of(first_key + s.k_length - s.q_length, s.q_length);
  if (method.bucket_rows > 0) c.buckets = random_floats(method.bucket_rows * s.num_heads, 5);
  if (method.table_rows > 0) c.key_rows = random_floats(method.table_rows * s.head_dim, 6);
  if (method.table_values) c.value_rows = random_floats(method.table_rows * s.value_dim, 7);
  return c;
}

struct MaskCase {
  std::string name;
  Mask mask;
};
inline const std::vector<MaskCase> mask_cases = {{"causal", CausalMask()},
                                                 {"bidirectional", BidirectionalMask()},
                                                 {"window", sliding_window(9)},
                                                 {"chunked", ChunkedMask{16}},
                                                 {"prefix", PrefixMask{7}}};

inline std::function<bool(int64_t, int64_t)> seen_by(const Mask& mask, const AttentionCase& c) {
  return [mask, queries = c.query_positions, keys = c.key_positions](int64_t query, int64_t key) {
    const PositionInterval seen = seen_positions(mask, queries[static_cast<size_t>(query)]);
    const int64_t at = keys[static_cast<size_t>(key)];
    return at >= seen.first && at <= seen.last;
  };
}

}  // namespace hodometer::testing
