#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/methods/position_spec.h"
#include "hodometer/ops/attention.h"
#include "hodometer/position/mask.h"
#include "hodometer/position/position_view.h"

namespace hodometer {

/// Heads of one sequence, [length, heads, head_dim], contiguous, in double.
struct ExactHeads {
  std::span<const double> values = {};
  int64_t length = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
};

/// A learned table, [rows, width], contiguous, in double.
struct ExactRows {
  std::span<const double> values = {};
  int64_t rows = 0;
  int64_t width = 0;
};

/// As AttentionOptions, for one sequence and in double.
struct ExactAttentionOptions {
  /// By default the keys stand at 0, 1, ... and the queries at the last of them. Over several axes
  /// the mask goes by the order of the tokens.
  std::optional<PositionView> query_positions = {};
  std::optional<PositionView> key_positions = {};
  Mask mask = CausalMask();
  /// One per token; a token sees only keys of its own segment, and padding nothing.
  std::optional<std::span<const SegmentId>> query_segments = {};
  std::optional<std::span<const SegmentId>> key_segments = {};
  KeyState keys = KeyState::unturned;
  std::optional<double> scale = {};    ///< by default 1 / sqrt(head_dim)
  double soft_cap = 0;                 ///< 0: none
  std::span<const double> sinks = {};  ///< [num_heads]; empty: none
  ExactRows buckets = {};              ///< T5: [num_buckets, num_heads]
  ExactRows key_rows = {};             ///< Shaw: [num_rows, head_dim]
  ExactRows value_rows = {};           ///< Shaw with values: [num_rows, value_dim]
};

/// What attention gives, all of it laid open.
struct ExactAttention {
  std::vector<double> out;       ///< [q_length, num_heads, value_dim]
  std::vector<double> weights;   ///< [num_heads, q_length, k_length]; 0 where nothing is seen
  std::vector<double> log_sums;  ///< [q_length, num_heads]; -inf where a query sees nothing
};

/// What attention() computes, in double and small, for people, tools and tests: one score after
/// another from the actions of the spec, by no kernel.
///
///   score  = scale * logit_scale * (q . k + q . key_row), capped, + bias by distance
///   weight = exp(score) / (sum of exp(score) + exp(sink))
///   out    = sum of weight * (v + value_row)
///
/// Shapes: q [q_length, num_heads, head_dim], k [k_length, num_kv_heads, head_dim], v [k_length,
/// num_kv_heads, value_dim]. Query head h uses key head h / (num_heads / num_kv_heads).
///
/// Sums over keys add their terms in ascending order, so that no result depends on the order in
/// which the keys come: without a method and a mask, permuted tokens give the permuted outputs bit
/// for bit.
///
/// Errors: as attention(); a method that adds rows to embeddings, for they are added before
/// attention; numbers, scores or outputs that are not finite; more than 2^22 weights, or 2^28
/// products.
Result<ExactAttention> exact_attention(const PositionSpec& spec, int64_t context_length,
                                       const ExactHeads& q, const ExactHeads& k,
                                       const ExactHeads& v,
                                       const ExactAttentionOptions& options = {});

}  // namespace hodometer
