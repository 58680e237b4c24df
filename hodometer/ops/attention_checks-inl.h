#pragma once

// Private: the arguments of attention, checked and with their defaults filled in. Not installed.

#include "hodometer/ops/attention.h"

namespace hodometer::internal {

/// Rows of keys or values that do not lie in a HeadsView: pages, other types, rotations that are
/// not done yet. Writes rows [begin, begin + count) of a head as float32, one after the other.
struct RowSource {
  void (*load)(const void* context, int64_t sequence, int64_t head, int64_t begin, int64_t count,
               float* rows) = nullptr;
  const void* context = nullptr;
};

struct AttentionCall {
  const Plan& plan;
  HeadsView q, k, v, out;
  const AttentionOptions& options;
  PositionView query_positions, key_positions;
  PositionView query_order, key_order;
  double scale = 1;
  /// Where there, k or v gives only the shape.
  std::optional<RowSource> key_source = {}, value_source = {};

  /// Whether scores depend on positions beyond the rotation: then they are whole numbers.
  bool needs_numbers() const;
  /// Whether sequences of the batch differ in positions, order or segments.
  bool sequences_differ() const;
};

Result<AttentionCall> check_attention(const Plan& plan, const HeadsView& q, const HeadsView& k,
                                      const HeadsView& v, const HeadsView& out,
                                      const AttentionOptions& options);

/// What was checked, done.
void run_attention(const AttentionCall& call, Executor& executor);

}  // namespace hodometer::internal
