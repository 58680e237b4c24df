// Nothing of size queries x keys is made, and no gradient is held twice.

#include <gtest/gtest.h>

#include "hodometer/ops/allocations_test.h"
#include "hodometer/ops/attention_backward.h"
#include "hodometer/ops/attention_cases_test.h"

namespace hodometer {
namespace {

/// Rows that all lie at the same place, so that long sequences take no memory.
HeadsView repeated(std::vector<float>& row, DType dtype, int64_t length, int64_t heads,
                   int64_t dim) {
  HeadsView view = HeadsView::bshd(row.data(), dtype, 1, length, heads, dim);
  view.length_stride = view.head_stride = 0;
  return view;
}

/// The most that attention_backward() had at once beside its arguments.
int64_t peak_of(const testing::AttentionMethod& method, const testing::AttentionShape& s,
                const Mask& mask, DType gradients) {
  const testing::AttentionCase c = testing::case_of(method, s, 0);
  const Plan plan = make_plan(c.spec, s.k_length).value();
  const auto lanes = static_cast<size_t>(s.head_dim);
  std::vector<float> inputs(lanes, 0.5f), out(lanes), to(lanes), buckets(c.buckets.size()),
      key_rows(c.key_rows.size()), value_rows(c.value_rows.size()),
      log_sums(static_cast<size_t>(s.q_length * s.num_heads), 20.0f);
  AttentionOptions options;
  options.mask = mask;
  options.learned = {c.buckets, c.key_rows, c.value_rows};
  const auto queries = [&](std::vector<float>& row, DType dtype) {
    return repeated(row, dtype, s.q_length, s.num_heads, s.head_dim);
  };
  const auto keys = [&](std::vector<float>& row, DType dtype) {
    return repeated(row, dtype, s.k_length, s.num_kv_heads, s.head_dim);
  };
  testing::forget_peak();
  const int64_t before = testing::allocations().live_bytes;
  const Status done =
      attention_backward(plan, queries(inputs, DType::float32), keys(inputs, DType::float32),
                         keys(inputs, DType::float32), queries(out, DType::float32),
                         queries(out, DType::float32), log_sums.data(),
                         {queries(to, gradients), keys(to, gradients), keys(to, gradients), buckets,
                          key_rows, value_rows},
                         options);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return testing::allocations().peak_bytes - before;
}

constexpr int64_t mebibyte = int64_t{1} << 20;

TEST(AttentionBackwardMemory, IsUnder32MebibytesAt4096Tokens) {
  const testing::AttentionShape s{4096, 4096, 32, 8, 128, 128};
  for (const DType gradients : {DType::float32, DType::bfloat16}) {
    for (const testing::AttentionMethod& method : testing::attention_methods(128, 32)) {
      SCOPED_TRACE(method.name);
      const int64_t peak = peak_of(method, s, sliding_window(64), gradients);
      EXPECT_LT(peak, 32 * mebibyte);
      // So much has each of 16 threads.
      if (method.name == "rotary") {
        EXPECT_LT(peak, 2 * mebibyte);
      }
    }
  }
}

TEST(AttentionBackwardMemory, IsUnder64MebibytesAt131072Tokens) {
  const testing::AttentionShape s{131072, 131072, 8, 2, 16, 16};
  for (const DType gradients : {DType::float32, DType::bfloat16}) {
    for (const testing::AttentionMethod& method : testing::attention_methods(16, 8)) {
      SCOPED_TRACE(method.name);
      EXPECT_LT(peak_of(method, s, sliding_window(8), gradients), 64 * mebibyte);
    }
  }
}

}  // namespace
}  // namespace hodometer
