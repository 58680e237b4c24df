// Nothing of size queries x keys is made, whatever the method.

#include <gtest/gtest.h>

#include <algorithm>

#include "hodometer/ops/allocations_test.h"
#include "hodometer/ops/attention_cases_test.h"

namespace hodometer {
namespace {

/// Heads that all lie at the same place, so that long sequences take no memory.
HeadsView repeated(std::vector<float>& row, int64_t length, int64_t heads) {
  HeadsView view = HeadsView::bshd(row.data(), DType::float32, 1, length, heads,
                                   static_cast<int64_t>(row.size()));
  view.length_stride = view.head_stride = 0;
  return view;
}

/// The most that attention() had at once beside its arguments.
int64_t peak_of(const testing::AttentionMethod& method, const testing::AttentionShape& s,
                const Mask& mask) {
  const testing::AttentionCase c = testing::case_of(method, s, 0);
  const Plan plan = make_plan(c.spec, s.k_length).value();
  std::vector<float> q(static_cast<size_t>(s.head_dim), 0.5f), k(q), v(q), out(q);
  AttentionOptions options;
  options.mask = mask;
  options.learned = {c.buckets, c.key_rows, c.value_rows};
  testing::forget_peak();
  const int64_t before = testing::allocations().live_bytes;
  const Status done = attention(
      plan, repeated(q, s.q_length, s.num_heads), repeated(k, s.k_length, s.num_kv_heads),
      repeated(v, s.k_length, s.num_kv_heads), repeated(out, s.q_length, s.num_heads), options);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return testing::allocations().peak_bytes - before;
}

constexpr int64_t mebibyte = int64_t{1} << 20;

TEST(AttentionMemory, IsUnder32MebibytesAt4096Tokens) {
  const testing::AttentionShape s{4096, 4096, 32, 8, 128, 128};
  for (const testing::AttentionMethod& method : testing::attention_methods(128, 32)) {
    SCOPED_TRACE(method.name);
    EXPECT_LT(peak_of(method, s, sliding_window(512)), 32 * mebibyte);
  }
}

TEST(AttentionMemory, IsUnder64MebibytesAt131072Tokens) {
  const testing::AttentionShape s{131072, 131072, 8, 2, 16, 16};
  for (const testing::AttentionMethod& method : testing::attention_methods(16, 8)) {
    SCOPED_TRACE(method.name);
    EXPECT_LT(peak_of(method, s, sliding_window(32)), 64 * mebibyte);
  }
  // All distances, with as many heads as models have.
  const testing::AttentionShape far{40, 131072, 32, 8, 4, 4};
  for (const testing::AttentionMethod& method : testing::attention_methods(4, 32)) {
    SCOPED_TRACE(method.name);
    EXPECT_LT(peak_of(method, far, BidirectionalMask()), 64 * mebibyte);
  }
}

TEST(AttentionMemory, DecodingTakesLittle) {
  const testing::AttentionShape s{1, 131072, 32, 8, 16, 16};
  for (const testing::AttentionMethod& method : testing::attention_methods(16, 32)) {
    SCOPED_TRACE(method.name);
    EXPECT_LT(peak_of(method, s, CausalMask()), 4 * mebibyte);
  }
}

}  // namespace
}  // namespace hodometer
