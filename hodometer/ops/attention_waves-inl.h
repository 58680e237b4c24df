#pragma once

// Private: in which order parts of the queries meet parts of the keys, so that gradients of both
// can be summed where they lie. Not installed.

#include <cstdint>
#include <span>
#include <vector>

#include "hodometer/kernels/attention_forward.h"

namespace hodometer::internal {

/// The smallest range with all of the ranges; none where they are all empty.
KeyRange union_of(std::span<const KeyRange> ranges);
/// Whether two ranges share a key.
bool meet(const KeyRange& a, const KeyRange& b);

/// A part of the queries and a part of the keys, by number.
struct WavePair {
  int64_t queries = 0;
  int64_t keys = 0;
};
/// Steps, one after the other; the pairs of a step share no part.
using Waves = std::vector<std::vector<WavePair>>;

/// Tokens of a part, a multiple of the kernel's tiles: few enough parts that steps are few, and
/// enough to go round.
int64_t wave_tokens(int64_t length);

/// All pairs of which some query sees some key, in steps. `ranges` are those of each query. Depends
/// on nothing else, so that sums have one order.
Waves make_waves(std::span<const KeyRange> ranges, int64_t num_keys, int64_t tokens);

}  // namespace hodometer::internal
