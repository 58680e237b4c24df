#pragma once

#include <cstdint>

#include "hodometer/kernels/attention_forward.h"

namespace hodometer {

/// Sums that a rule of their own takes from tiles: `add` adds each number of a tile to the sum that
/// its key goes by, as ValueTable::add does. The sums of row r are at sums + r * stride.
struct RowSums {
  void (*add)(const void* context, const WeightTile& tile) = nullptr;  ///< null: not wanted
  const void* context = nullptr;
  float* sums = nullptr;
  int64_t stride = 0;
};

/// Float32 rows to which gradients are added; laid out as QueryRows and KeyRows are.
struct QueryGradient {
  float* data = nullptr;  ///< null: not wanted
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};
struct KeyGradient {
  float* data = nullptr;  ///< null: not wanted
  int64_t stride = 0;
};

/// A run of query tokens that attend() has served, the keys that the call is about, and where the
/// gradients go.
struct AttentionGradientBlock {
  /// As attend() had it; `log_sum` is not used, and `value_table` gives no more than its presence
  /// in the output.
  AttentionBlock attention;
  QueryRows<const void> out_gradient;  ///< of value_dim lanes
  /// What attend() wrote: natural logarithms, -inf where the sum is empty.
  const float* log_sum = nullptr;
  int64_t log_sum_token_stride = 0;
  int64_t log_sum_head_stride = 0;
  /// Gradients of these keys and no others, and of the queries by way of them.
  KeyRange keys;
  /// Where `fill` is not null: added to the products of the output's gradient with values, as rows
  /// that join the values by a rule of their own ask for. `data` is not used.
  ScoreBias value_scores;
  QueryGradient query_gradient;
  KeyGradient key_gradient;
  KeyGradient value_gradient;
  RowSums probability_sums;  ///< of the softmax's probabilities
  RowSums bias_sums;         ///< of the gradients of what is added to the scores
};

/// A number of tokens whose rows and gradients stay in the cache of a core.
int64_t attention_gradient_tokens(int64_t group);

/// How many floats attend_backward() needs beside its arguments; does not depend on the number of
/// keys.
int64_t attention_gradient_scratch_size(const AttentionGradientBlock& block);

/// Puts the output's gradients into the scratch memory, and their products with the output. The
/// queries are put there by load_queries().
void load_out_gradients(const AttentionGradientBlock& block, float* scratch);

/// Where the output's gradients lie in the scratch memory: float32, row r = token * group + head at
/// r * value_dim.
const float* attention_out_gradient_rows(const AttentionGradientBlock& block, float* scratch);

/// Adds the gradients of the queries, keys and values in the scratch memory and in block.attention.
///
/// With p the softmax's probability of a score, g = out_gradient . value and delta =
/// out_gradient . out, a score's gradient is s = p (g - delta), and
///   value_gradient += p out_gradient
///   key_gradient   += s query    (times kQueryFactor, as queries in the scratch memory are)
///   query_gradient += s key      (of the query before its scale)
/// where a soft cap multiplies s by its slope. Source: FlashAttention-2, arXiv:2307.08691,
/// algorithm 2.
///
/// Rows whose logarithm is -inf have no gradient. Computed in float32 from tiles of scores that are
/// made again; the order of a sum depends on the block's tokens and keys only, and key tiles lie at
/// multiples of their size. Keys that no token sees are not read, and their gradients are left
/// alone. Never allocates.
void attend_backward(const AttentionGradientBlock& block, float* scratch);

/// products[token * token_stride + head * head_stride] = a . b of two rows of `dim` lanes.
struct RowProducts {
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t dim = 0;
  QueryRows<const void> a, b;
  float* data = nullptr;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};
void multiply_rows(const RowProducts& products);

}  // namespace hodometer
