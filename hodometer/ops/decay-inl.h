#pragma once

// Private: the decay of xPos as the kernels take it. Not installed.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hodometer/base/result.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/ops/token_runs-inl.h"
#include "hodometer/plan/plan.h"

namespace hodometer::internal {

/// That a role is there when the plan needs one, and that no factor leaves float32's normal range.
Status check_decay(std::string_view operation, const Plan& plan, const PositionView& positions,
                   const std::optional<HeadRole>& role, int64_t batch, int64_t length);

/// The lanes of the pairs of a rotation from `begin` on.
PairLanes pair_lanes(const RotationPlan& rotation, int64_t begin);

/// The factor of one pair at one position; `sign` is 1 for what grows and -1 for what shrinks.
double decay_factor(const Decay& decay, size_t pair, double position, double sign);

/// Calls body(tile, begin, pairs, factors) until every token and pair has been in one tile, pairs
/// from 0 upwards for each token. factors is [tile.count, pairs], on the stack.
template <class Body>
void for_each_decay_tile(const RotationPlan& rotation, const PositionView& positions,
                         const TokenRun& run, double sign, const Body& body) {
  constexpr int64_t most_factors = 4096;
  constexpr int64_t most_pairs = 1024;
  float factors[most_factors];
  const int64_t width = std::clamp<int64_t>(rotation.num_pairs(), 1, most_pairs);
  const int64_t tokens = most_factors / width;
  for (int64_t skip = 0; skip < run.count; skip += tokens) {
    const TokenRun tile = run.part(skip, std::min(tokens, run.count - skip));
    int64_t begin = 0;
    do {
      const int64_t pairs = std::min(width, rotation.num_pairs() - begin);
      float* next = factors;
      for (int64_t i = 0; i < tile.count; ++i) {
        const TokenRun one = tile.part(i, 1);
        const double position = position_at(positions, 0, one.sequence, one.token);
        for (int64_t j = begin; j < begin + pairs; ++j) {
          *next++ = static_cast<float>(
              decay_factor(*rotation.decay, static_cast<size_t>(j), position, sign));
        }
      }
      body(tile, begin, pairs, factors);
      begin += pairs;
    } while (begin < rotation.num_pairs());
  }
}

}  // namespace hodometer::internal
