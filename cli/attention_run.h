#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench_heads.h"
#include "hodometer/ops/attention.h"
#include "hodometer/ops/exact_attention.h"

namespace hodometer::cli {

/// Attention of a named method over heads of its own: 32 query heads, 8 key heads, 128 lanes.
struct AttentionRun {
  static constexpr int64_t num_heads = 32, num_kv_heads = 8, head_dim = 128;

  /// Queries are the last of the keys, under a causal mask.
  AttentionRun(std::string_view method, DType key_type, int64_t q_length, int64_t k_length);

  /// "topic/1x32768x32_8x128/float32/rotary": queries, keys, heads, width, type of keys, method.
  std::string name(std::string_view topic, std::string_view method) const;
  /// Runs, then check_out(2e-6).
  Status check();
  /// Some queries of some heads of `out` against exact attention.
  Status check_out(double largest_error) const;
  /// What exact attention gives for one query and head.
  Result<ExactAttention> exact(int64_t query, int64_t head) const;
  void run(Executor& executor = serial_executor());
  /// Products of one call in units of 10^9 operations, two for each multiply-add: those of scores
  /// and values that the mask shows.
  double giga_operations() const;
  /// Bytes of keys and values.
  double bytes() const { return static_cast<double>(2 * k.count() * dtype_size(k.dtype())); }

  Plan plan;
  Heads q, k, v, out;
  std::vector<float> buckets = {}, key_rows = {}, value_rows = {};
  std::vector<float> log_sums;

 private:
  Status check_row(int64_t query, int64_t head, double largest_error) const;
};

/// "nope", "rotary", "alibi", "t5", "shaw", "shaw_values".
std::vector<std::string> attention_run_methods();

}  // namespace hodometer::cli
