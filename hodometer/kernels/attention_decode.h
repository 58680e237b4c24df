#pragma once

#include <cstdint>
#include <span>

#include "hodometer/kernels/attention_forward.h"

namespace hodometer {

// Attention of few query rows over many keys, as when one token at a time is generated: keys and
// values are read once, in their order in memory, for all rows. Keys may be parted among threads:
// each makes a partial result of its part, and the parts are merged.

/// How many floats attend_keys() needs per block beside its arguments; does not depend on the
/// number of keys.
int64_t attend_keys_scratch_size(const AttentionBlock& block);

/// How many floats a partial result has.
int64_t attention_partial_size(const AttentionBlock& block);

/// The part of attend() that belongs to the keys in `keys`; sinks, the output and its logarithm are
/// not touched. Blocks of several heads whose keys lie side by side in memory should be given
/// together: they are worked on in turns. All have the same shape and
/// ranges. Block i has its scratch memory,
/// into which load_queries() has put its queries, at scratch + i * attend_keys_scratch_size() and
/// its partial result at partials + i * attention_partial_size(). Where a bias is filled by tile,
/// all rows of a block are one tile. Errors as attend(). Never allocates.
void attend_keys(std::span<const AttentionBlock> blocks, KeyRange keys, float* scratch,
                 float* partials);

/// Writes the output of a block and its logarithm: its partial results (one or more, `stride`
/// floats apart) merged in their order, so that the bits depend on how keys were parted but not on
/// who did which part. The partial results are used up.
void merge_partials(const AttentionBlock& block, float* partials, int64_t count, int64_t stride);

}  // namespace hodometer
