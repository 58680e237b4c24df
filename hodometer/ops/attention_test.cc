#include "hodometer/ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/ops/attention_reference_test.h"

namespace hodometer {
namespace {

using testing::AttentionCase;
using testing::Heads;

std::vector<float> random_floats(int64_t count, uint64_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<float>(static_cast<double>(seed >> 11) * 0x1p-52 - 1));
  }
  return values;
}

std::vector<int64_t> run_of(int64_t first, int64_t count) {
  std::vector<int64_t> run;
  for (int64_t i = 0; i < count; ++i) run.push_back(first + i);
  return run;
}

struct Shape {
  int64_t q_length, k_length, num_heads, num_kv_heads, head_dim, value_dim;
  DType query = DType::float32, key = DType::float32, out = DType::float32;
  int64_t batch = 1;
};

/// Runs attention and compares some rows of it with the reference.
void expect_right(const Shape& s, AttentionCase c, const AttentionOptions& given,
                  const std::string& what) {
  SCOPED_TRACE(what);
  Heads q = Heads::bshd(s.query, s.batch, s.q_length, s.num_heads, s.head_dim, 1);
  Heads k = Heads::bshd(s.key, s.batch, s.k_length, s.num_kv_heads, s.head_dim, 2);
  Heads v = Heads::bshd(s.key, s.batch, s.k_length, s.num_kv_heads, s.value_dim, 3);
  Heads out = Heads::bshd(s.out, s.batch, s.q_length, s.num_heads, s.value_dim, 4);
  const Plan plan = make_plan(c.spec, c.context_length).value();
  c.scale = 0.5 / std::sqrt(static_cast<double>(s.head_dim));

  AttentionOptions options = given;
  options.scale = c.scale;
  options.soft_cap = c.soft_cap;
  options.sinks = c.sinks;
  options.learned = {c.buckets, c.key_rows, c.value_rows};
  options.query_positions = PositionView::shared_ids(c.query_positions);
  options.key_positions = PositionView::shared_ids(c.key_positions);
  options.keys = c.keys;
  std::vector<float> log_sums(static_cast<size_t>(s.batch * s.q_length * s.num_heads));
  options.log_sums = log_sums.data();
  const Status done = attention(plan, q.view(), k.view(), v.view(), out.view(), options);
  ASSERT_TRUE(done.ok()) << done.error().message;

  const int64_t step = std::max<int64_t>(1, s.q_length / 7);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t i = s.q_length - 1; i >= 0; i -= step) {
      for (int64_t h = 0; h < s.num_heads; ++h) {
        const auto row = testing::reference_row(c, q, k, v, b, i, h);
        const double bound = 3e-6 * (row.largest + 1);
        const float log_sum =
            log_sums[static_cast<size_t>((b * s.q_length + i) * s.num_heads + h)];
        if (std::isinf(row.log_sum)) {
          ASSERT_EQ(static_cast<double>(log_sum), row.log_sum);
        } else {
          ASSERT_NEAR(log_sum, row.log_sum, 4e-6 * (1 + std::abs(row.log_sum)));
        }
        for (int64_t lane = 0; lane < s.value_dim; ++lane) {
          const double want = row.out[static_cast<size_t>(lane)];
          ASSERT_NEAR(out.at(b, i, h, lane), want, bound + testing::rounding(s.out, want))
              << "batch " << b << " query " << i << " head " << h << " lane " << lane;
        }
      }
    }
  }
}

struct Method {
  std::string name, text;
  int64_t bucket_rows = 0;  ///< times num_heads
  int64_t table_rows = 0;
  bool table_values = false;
};

/// Every method that acts in attention, at a width that is no multiple of anything.
std::vector<Method> methods(int64_t head_dim, int64_t num_heads) {
  const std::string dim = std::to_string(head_dim), heads = std::to_string(num_heads);
  const std::string rotary = R"({"method":"rotary","head_dim":)" + dim + R"(,"base":10000,)";
  return {
      {"nope", R"({"method":"nope"})"},
      {"rotary", rotary + R"("layout":"half_split"})"},
      {"partial", rotary + R"("layout":"interleaved","rotary_dim":)" +
                      std::to_string(head_dim / 4 * 2) + "}"},
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

AttentionCase case_of(const Method& method, const Shape& s, int64_t first_key) {
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
const std::vector<MaskCase> masks = {{"causal", CausalMask()},
                                     {"bidirectional", BidirectionalMask()},
                                     {"window", sliding_window(9)},
                                     {"chunked", ChunkedMask{16}},
                                     {"prefix", PrefixMask{7}}};

std::function<bool(int64_t, int64_t)> seen_by(const Mask& mask, const AttentionCase& c) {
  return [mask, queries = c.query_positions, keys = c.key_positions](int64_t query, int64_t key) {
    const PositionInterval seen = seen_positions(mask, queries[static_cast<size_t>(query)]);
    const int64_t at = keys[static_cast<size_t>(key)];
    return at >= seen.first && at <= seen.last;
  };
}

TEST(Attention, EveryMethodUnderEveryMaskMatchesTheReference) {
  for (const auto& [q_length, k_length] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {1, 77}, {5, 5}, {67, 67}, {3, 300}, {130, 261}}) {
    for (const auto& [heads, kv_heads] :
         std::vector<std::pair<int64_t, int64_t>>{{3, 3}, {6, 2}, {5, 1}}) {
      const Shape s{q_length, k_length, heads, kv_heads, 20, 12};
      for (const Method& method : methods(s.head_dim, heads)) {
        for (const MaskCase& mask : masks) {
          AttentionCase c = case_of(method, s, 0);
          AttentionOptions options;
          options.mask = mask.mask;
          c.sees = seen_by(mask.mask, c);
          expect_right(s, c, options,
                       method.name + " " + mask.name + " " + std::to_string(q_length) + "x" +
                           std::to_string(k_length) + " heads " + std::to_string(heads) + "/" +
                           std::to_string(kv_heads));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hodometer
