#pragma once

// Private: what a cache holds. Not installed.

#include <cstdint>
#include <memory>
#include <vector>

#include "hodometer/ops/kv_cache.h"
#include "hodometer/ops/kv_cache_rotation-inl.h"
#include "hodometer/ops/kv_cache_storage-inl.h"

namespace hodometer::internal {

struct KvState {
  KvCacheOptions options;
  std::shared_ptr<const Plan> plan;  ///< by which keys are wanted
  KvStorage storage;
  /// [tokens, num_axes] where keys are wanted.
  std::vector<int64_t> positions = {};

  /// How keys are stored; nothing of it for keys that are stored as projected.
  std::vector<int64_t> stored_positions = {};  ///< [tokens, num_axes]
  std::vector<int32_t> stored_plans = {};      ///< [tokens] places in `plans`
  std::vector<std::shared_ptr<const Plan>> plans = {};
  int32_t current = 0;  ///< the place of a plan that turns keys as `plan` does
  int64_t pending = 0;  ///< keys that are wanted otherwise than they are stored

  bool turned() const { return options.keys == KeyState::turned && !plan->rotations.empty(); }
  int64_t tokens() const { return storage.tokens(); }
  int64_t num_axes() const { return plan->num_axes(); }
  PositionView position_view(int64_t begin, int64_t count) const;

  KeyTurn stored(int64_t token) const;
  KeyTurn wanted(int64_t token) const;
  bool is_pending(int64_t token) const;
  void count_pending();
  /// Makes `next` the plan that is wanted and forgets plans that no key is stored by.
  void set_plan(std::shared_ptr<const Plan> next);

  /// Writes rows [begin, begin + count) of a head as they are wanted, in float32.
  void load_keys(int64_t head, int64_t begin, int64_t count, float* rows) const;
  /// Stores keys [begin, begin + count) as they are wanted.
  void settle(int64_t begin, int64_t count);
};

/// Turns float32 rows [1, tokens, heads, head_dim] in place, as keys. Everything was checked
/// before.
void turn_keys(const Plan& plan, const PositionView& positions, float* rows, int64_t tokens,
               int64_t heads);

/// The row of a head in a tensor of batch 1.
const void* row_of(const HeadsView& heads, int64_t token, int64_t head);

}  // namespace hodometer::internal
