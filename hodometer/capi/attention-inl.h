#pragma once

// Private: the options of attention as they come from C. Not installed.

#include <string_view>
#include <vector>

#include "hodometer/capi/plan-inl.h"
#include "hodometer/ops/attention.h"

namespace hodometer::capi {

/// Contiguous copies, in the type of their own that C does not have.
struct AttentionSegments {
  std::vector<SegmentId> queries, keys;
};

/// `given` may be NULL, for the defaults. The result points into it and into `segments`.
Result<AttentionOptions> attention_options_of(std::string_view operation,
                                              const hodo_attention_options* given,
                                              AttentionSegments& segments);

}  // namespace hodometer::capi
