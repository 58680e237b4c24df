#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hodometer/base/result.h"

/// Position ids are only made here; every operation takes them through a PositionView.
///
/// All functions are pure: an id never depends on what was called before. Sizes are checked before
/// anything is allocated, and errors name the values. At most 2^31 ids are made by one call.
namespace hodometer {

/// Which packed sequence a token belongs to: the mask that packing needs beside the positions,
/// since tokens of different segments must not see each other. A type of its own, so that it is
/// never taken for a padding mask or a position.
enum class SegmentId : int64_t { padding = 0 };

/// Contiguous [batch, length]: starts[b], starts[b] + 1, ... Also for length 1.
Result<std::vector<int64_t>> ids_from_starts(std::span<const int64_t> starts, int64_t length);

/// What a padding mask says about positions.
struct MaskedIds {
  /// [batch, length]. A padded place gets 0: legal in every table, and no valid token sees it.
  std::vector<int64_t> ids;
  /// [batch] the position of the next token: the largest position of a valid token + 1.
  std::vector<int64_t> next;
};

/// Positions from a padding mask, contiguous [batch, length], 1 where there is a token: the count
/// of valid tokens before it in its row, wherever the padding is. As Hugging Face's generate()
/// does. Errors: a size that is no multiple of length; a value other than 0 and 1.
Result<MaskedIds> ids_from_mask(std::span<const uint8_t> mask, int64_t length);

/// Sequences packed one after another without padding.
struct PackedIds {
  std::vector<int64_t> ids;         ///< [tokens], beginning at 0 in every sequence
  std::vector<SegmentId> segments;  ///< [tokens], counted from 1
};

/// Positions and segments from cumulative lengths: {0, 2, 5} is two sequences of 2 and 3 tokens.
/// Empty sequences are allowed. Errors: not beginning at 0, descending.
Result<PackedIds> packed_ids(std::span<const int64_t> cu_seqlens);

/// Positions from a segment per token, such as {1, 1, 2, 2, 2, 0}: each run of equal ids begins at
/// 0; padding gets 0. Errors: a negative segment; one that comes back after another, because its
/// second part would begin at 0 again.
Result<std::vector<int64_t>> ids_from_segments(std::span<const SegmentId> segments);

/// Positions of q_len queries whose last one stands at the last of k_len keys. Errors: more queries
/// than keys, negative lengths.
Result<std::vector<int64_t>> ids_aligned_to_end(int64_t q_len, int64_t k_len);

/// Positions of a tree of drafted tokens after `base` tokens that are settled. parents[i] is the
/// index of the token that token i follows, or -1 when it follows the settled ones: those stand at
/// `base`, their children at base + 1, and siblings share a position. Errors: a parent at or after
/// its child, or below -1; a negative base.
Result<std::vector<int64_t>> draft_tree_ids(std::span<const int64_t> parents, int64_t base);

/// How a sequence is cut over the ranks of a context-parallel run.
enum class ContextSplit : uint8_t {
  contiguous,  ///< rank r has the r-th of `ranks` equal pieces
  zigzag,      ///< rank r has pieces r and 2 ranks - 1 - r of 2 ranks, so that causal work is even
};

/// The tokens of one rank.
struct ShardIds {
  std::vector<int64_t> tokens;      ///< index of each in the packed whole
  std::vector<int64_t> ids;         ///< position of each in its own sequence
  std::vector<SegmentId> segments;  ///< the sequence of each, counted from 1
};

/// The tokens of `rank`, when every packed sequence is cut over `ranks`. All ranks together hold
/// each token once. Sources: Megatron-LM and TransformerEngine (zigzag over each sequence). Errors:
/// as packed_ids; a rank outside 0 to ranks - 1; a length that does not divide evenly.
Result<ShardIds> cp_positions(std::span<const int64_t> cu_seqlens, int64_t ranks, int64_t rank,
                              ContextSplit split);

}  // namespace hodometer
