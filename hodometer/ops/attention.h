#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodometer/base/parallel.h"
#include "hodometer/base/result.h"
#include "hodometer/base/tensor_view.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/mask.h"
#include "hodometer/position/position_ids.h"
#include "hodometer/position/position_view.h"

namespace hodometer {

/// The segment of every token of [batch, length], strides in elements: a token sees only keys of
/// its own segment. Padding sees nothing and nothing sees it. position_ids.h makes them.
struct SegmentView {
  const SegmentId* data = nullptr;
  int64_t batch = 0;  ///< 1: all sequences share the row
  int64_t length = 0;
  int64_t batch_stride = 0;
  int64_t length_stride = 1;

  /// Contiguous [batch, length].
  static constexpr SegmentView contiguous(const SegmentId* data, int64_t batch, int64_t length) {
    return {data, batch, length, length, 1};
  }
};

/// What a model has learned for its method, in float32. Empty where the plan learns nothing.
struct LearnedBias {
  /// T5: [num_buckets, num_heads].
  std::span<const float> buckets = {};
  /// Shaw: [num_rows, head_dim] that queries meet, shared by all heads.
  std::span<const float> key_rows = {};
  /// Shaw with values: [num_rows, value_dim].
  std::span<const float> value_rows = {};
};

/// Whether keys come turned by their positions, as a cache keeps them, or as projected.
enum class KeyState : uint8_t { turned, unturned };

struct AttentionOptions {
  /// Positions of the queries and of the keys, which rotate and bias. By default the keys stand at
  /// 0, 1, ... and the queries at the last of them: decoding needs no offset by hand.
  std::optional<PositionView> query_positions = {};
  std::optional<PositionView> key_positions = {};
  /// By what a mask orders tokens. By default the positions; plans over several axes (images share
  /// a time) go by the order of the tokens instead.
  std::optional<PositionView> query_order = {};
  std::optional<PositionView> key_order = {};
  Mask mask = CausalMask();
  std::optional<SegmentView> query_segments = {};
  std::optional<SegmentView> key_segments = {};
  KeyState keys = KeyState::unturned;
  /// Scores are multiplied by this and the plan's logit scale; by default 1 / sqrt(head_dim).
  std::optional<double> scale = {};
  /// Above 0: score = soft_cap * tanh(score / soft_cap), before the bias.
  double soft_cap = 0;
  /// [num_heads] scores that take part in the softmax and have no value (gpt-oss); empty: none.
  std::span<const float> sinks = {};
  LearnedBias learned = {};
  /// Where not null: [batch, length, num_heads] natural logarithms of the softmax's sums, with
  /// sinks; -inf where a query sees nothing.
  float* log_sums = nullptr;
};

/// out = softmax(scale q . k + bias) v by every method of the plan: rotation of queries (and of
/// keys that are not turned yet), biases by distance, tables that queries meet, logit scales.
///
/// Shapes: q [batch, q_length, num_heads, head_dim], k [batch, k_length, num_kv_heads, head_dim],
/// v [batch, k_length, num_kv_heads, value_dim], out [batch, q_length, num_heads, value_dim]; query
/// head h uses key head h / (num_heads / num_kv_heads). Types of q, k, v and out may differ; any
/// strides. q, k and v are only read. Rows that an embedding plan adds are not part of this: see
/// add_rows().
///
/// Arithmetic is float32 with one rounding on store; nothing of size q_length x k_length is made.
/// A query that sees no key gives zeros. Keys that no query sees are not read. Results do not
/// depend on the executor or on the batch.
///
/// Errors: shapes that do not belong together, heads of another width than the plan's, a plan that
/// learns a bias without its table, positions as for rotate(), a mask without meaning, segments of
/// another shape or negative, head_dim above 512.
Status attention(const Plan& plan, const HeadsView& q, const HeadsView& k, const HeadsView& v,
                 const HeadsView& out, const AttentionOptions& options = {},
                 Executor& executor = serial_executor());

}  // namespace hodometer
