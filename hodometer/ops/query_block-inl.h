#pragma once

// Private: a block of queries of one sequence and key head with everything that its kernels read.
// Not installed.

#include <cstdint>
#include <optional>
#include <vector>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/ops/attention_bias-inl.h"
#include "hodometer/ops/attention_checks-inl.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/ops/seen_keys-inl.h"

namespace hodometer::internal {

/// Lane 0 of a head of a token.
const void* element(const HeadsView& heads, int64_t batch, int64_t token, int64_t head);

/// Tokens [first, first + count) of one sequence.
PositionView slice_tokens(const PositionView& view, int64_t sequence, int64_t first, int64_t count);

/// Turns float32 rows [tokens, heads, head_dim] in place by everything that the plan rotates.
/// Everything was checked before.
void turn_rows(const Plan& plan, const PositionView& positions, const RotateOptions& options,
               float* rows, int64_t tokens, int64_t heads);

/// One sequence of the batch, or all of them where they do not differ.
struct SequenceParts {
  NumberRow query_positions, key_positions;
  SeenKeys seen;
};

/// What all blocks of a call share.
class AttentionParts {
 public:
  /// The call must outlive this.
  explicit AttentionParts(const AttentionCall& call);

  /// Lays the distance bias out over all distances that are seen, where tokens stand in runs and
  /// the array is not out of proportion. Pays where there are many queries.
  void make_slices();

  const AttentionCall& call() const { return call_; }
  const SequenceParts& sequence(int64_t index) const {
    return sequences_[sequences_.size() == 1 ? 0 : static_cast<size_t>(index)];
  }
  const DistanceValues* distance() const { return distance_ ? &*distance_ : nullptr; }
  const std::optional<DistanceSlices>& slices() const { return slices_; }
  /// Query heads per key head.
  int64_t group() const { return group_; }

 private:
  const AttentionCall& call_;
  std::vector<SequenceParts> sequences_;
  std::optional<DistanceValues> distance_;
  std::optional<DistanceSlices> slices_;
  int64_t group_ = 1;
};

/// Tokens [first, first + tokens) of a sequence and the query heads of a key head.
struct BlockPlace {
  int64_t sequence = 0;
  int64_t kv_head = 0;
  int64_t first = 0;
  int64_t tokens = 0;
};

/// A block as kernels take it. Stays where it is, because block() points into it.
class QueryBlock {
 public:
  QueryBlock(const AttentionParts& parts, const BlockPlace& place);
  QueryBlock(const QueryBlock&) = delete;
  QueryBlock& operator=(const QueryBlock&) = delete;

  const AttentionBlock& block() const { return block_; }
  /// Puts the queries into scratch memory, scaled and turned, and what else hangs on them here.
  void load(float* scratch);

 private:
  struct Source {
    const AttentionCall* call;
    BlockPlace place;
  };
  static void load_turned(const void* context, int64_t begin, int64_t count, float* rows);
  static void load_keys(const void* context, int64_t begin, int64_t count, float* rows);
  static void load_values(const void* context, int64_t begin, int64_t count, float* rows);
  void set_rows(const HeadsView& k, const HeadsView& v);
  void set_scales();
  void set_bias();

  const AttentionParts& parts_;
  const BlockPlace place_;
  const Source source_;
  AttentionBlock block_;
  std::vector<float> scales_;
  TileBias bias_;
  std::vector<float> table_scores_;
};

}  // namespace hodometer::internal
