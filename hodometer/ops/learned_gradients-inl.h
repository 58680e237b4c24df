#pragma once

// Private: gradients of what a model has learned for its method. Not installed.

#include <cstdint>
#include <vector>

#include "hodometer/kernels/attention_backward.h"
#include "hodometer/ops/attention_bias-inl.h"
#include "hodometer/ops/query_block-inl.h"

namespace hodometer::internal {

/// Gradients of a LearnedBias, each empty where nobody wants it. In double, for every query and key
/// adds to the same few numbers.
struct LearnedSums {
  std::vector<double> buckets = {}, key_rows = {}, value_rows = {};

  size_t size() const { return buckets.size() + key_rows.size() + value_rows.size(); }
  void add(const LearnedSums& other);
};

/// The bucket of every distance up to where buckets end.
class BucketPlaces {
 public:
  explicit BucketPlaces(const DistanceBias& bias);

  int32_t bucket(int64_t distance) const;

 private:
  int64_t reach_ = 0;
  std::vector<int32_t> buckets_;  ///< of distances -reach to reach
};

/// What a block of queries gives to learned biases, and what learned rows give to its queries.
/// Stays where it is, because blocks of kernels point into it.
class BlockSums {
 public:
  /// `buckets`: null where their gradients are not wanted.
  BlockSums(const AttentionParts& parts, const BlockPlace& place, const BucketPlaces* buckets);
  BlockSums(const BlockSums&) = delete;
  BlockSums& operator=(const BlockSums&) = delete;

  /// Lets the block know of rows that join the values. `scratch` has the output's gradients.
  void join_values(AttentionGradientBlock& block, float* scratch);
  /// Lets the block sum by bucket and by row of a table.
  void sum(AttentionGradientBlock& block);
  /// Adds what was summed to the gradients of the queries, [rows, head_dim], and to `learned`.
  void finish(const AttentionGradientBlock& block, float* scratch, float* query_gradients,
              LearnedSums& learned) const;

 private:
  static void add_bias(const void* context, const WeightTile& tile);
  void add_buckets(const WeightTile& tile) const;

  const AttentionParts& parts_;
  const BlockPlace place_;
  const BucketPlaces* buckets_;
  TileBias rows_;                    ///< the table, with the scores of value rows
  std::vector<float> value_scores_;  ///< [rows, stride]
  std::vector<float> bias_sums_;     ///< [rows, table rows and buckets]
  std::vector<float> value_sums_;    ///< [rows, table rows]
  int64_t num_rows_ = 0;             ///< of queries
  int64_t table_rows_ = 0;
  int64_t num_buckets_ = 0;
};

}  // namespace hodometer::internal
