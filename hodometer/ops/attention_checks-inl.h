#pragma once

// Private: the arguments of attention, checked and with their defaults filled in. Not installed.

#include "hodometer/ops/attention.h"

namespace hodometer::internal {

struct AttentionCall {
  const Plan& plan;
  HeadsView q, k, v, out;
  const AttentionOptions& options;
  PositionView query_positions, key_positions;
  PositionView query_order, key_order;
  double scale = 1;

  /// Whether scores depend on positions beyond the rotation: then they are whole numbers.
  bool needs_numbers() const;
  /// Whether sequences of the batch differ in positions, order or segments.
  bool sequences_differ() const;
};

Result<AttentionCall> check_attention(const Plan& plan, const HeadsView& q, const HeadsView& k,
                                      const HeadsView& v, const HeadsView& out,
                                      const AttentionOptions& options);

}  // namespace hodometer::internal
