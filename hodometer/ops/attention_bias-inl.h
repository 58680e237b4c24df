#pragma once

// Private: what a plan adds to the scores of attention. Not installed.

#include <cstdint>
#include <span>
#include <vector>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/methods/action.h"
#include "hodometer/ops/seen_keys-inl.h"

namespace hodometer::internal {

/// A distance bias as the numbers of each head: what is learned per bucket is laid out over the
/// distances where buckets change.
class DistanceValues {
 public:
  /// `table` is [num_buckets, num_heads], or empty for slopes. The bias must outlive this.
  DistanceValues(const DistanceBias& bias, std::span<const float> table);

  float at(int64_t head, int64_t distance) const;
  /// Distances last, last - 1, ...: those of ascending keys.
  void descend(int64_t head, int64_t last, std::span<float> values) const;

 private:
  const DistanceBias& bias_;
  int64_t reach_ = 0;            ///< beyond it a learned bias does not change
  std::vector<float> by_place_;  ///< [num_heads, 2 reach + 1], distances descending
};

/// The distance bias of some queries and keys that each stand in a run: one array per head over
/// distances, descending, so that the row of a query is a slice of it.
struct DistanceSlices {
  int64_t last_distance = 0;
  int64_t num_distances = 0;
  std::vector<float> values = {};  ///< [num_heads, num_distances]
};

/// What tokens [first_query, ...) of a sequence add to the scores of heads [first_head, ...), for
/// ScoreBias::fill: the distance bias, Shaw's rows, and -inf for keys that a range has and a query
/// does not see. What does not apply is null.
struct TileBias {
  const SeenKeys* seen = nullptr;
  const DistanceValues* distance = nullptr;
  const QueryTableBias* table = nullptr;
  const float* table_scores = nullptr;  ///< of row r and table row t at r * table_stride + t
  int64_t table_stride = 0;
  NumberRow query_positions, key_positions;
  int64_t first_query = 0;
  int64_t first_head = 0;
  int64_t group = 1;

  static void fill(const void* context, const BiasTile& tile);
  /// For ValueTable::add: the weights of Shaw's value rows.
  static void add_weights(const void* context, const WeightTile& tile);

 private:
  void fill_row(int64_t row, int64_t first_key, std::span<float> scores) const;
  /// Keys [0, low) of a run take the table's first row, [low, high) one row each from `first` on,
  /// and those from `high` on its last.
  struct TableRun {
    int64_t first, low, high;
  };
  TableRun table_run(int64_t position, int64_t first_key, int64_t keys) const;
  void fill_table_scores(int64_t row, int64_t position, int64_t first_key,
                         std::span<float> scores) const;
};

}  // namespace hodometer::internal
