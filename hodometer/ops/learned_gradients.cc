#include <algorithm>
#include <span>

#include "hodometer/kernels/table_scores.h"
#include "hodometer/ops/learned_gradients-inl.h"

namespace hodometer::internal {
namespace {

void add_all(std::vector<double>& to, const std::vector<double>& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

template <class To>
void add_scaled(To* to, const float* from, int64_t count, To factor) {
  for (int64_t i = 0; i < count; ++i) to[i] += factor * static_cast<To>(from[i]);
}

}  // namespace

void LearnedSums::add(const LearnedSums& other) {
  add_all(buckets, other.buckets);
  add_all(key_rows, other.key_rows);
  add_all(value_rows, other.value_rows);
}

BucketPlaces::BucketPlaces(const DistanceBias& bias) : reach_(bias.bucket_starts.back()) {
  for (int64_t distance = -reach_; distance <= reach_; ++distance) {
    buckets_.push_back(static_cast<int32_t>(bias.bucket(distance)));
  }
}

int32_t BucketPlaces::bucket(int64_t distance) const {
  return buckets_[static_cast<size_t>(reach_ + std::clamp(distance, -reach_, reach_))];
}

BlockSums::BlockSums(const AttentionParts& parts, const BlockPlace& place,
                     const BucketPlaces* buckets)
    : parts_(parts), place_(place), buckets_(buckets), num_rows_(place.tokens * parts.group()) {
  const Plan& plan = parts.call().plan;
  if (buckets != nullptr) num_buckets_ = plan.distance_bias->num_buckets();
  if (!plan.query_table_bias && buckets == nullptr) return;
  const SequenceParts& sequence = parts.sequence(place.sequence);
  rows_.query_positions = sequence.query_positions;
  rows_.key_positions = sequence.key_positions;
  rows_.first_query = place.first;
  rows_.group = parts.group();
  if (!plan.query_table_bias) return;
  rows_.table = &*plan.query_table_bias;
  table_rows_ = rows_.table->num_rows();
}

void BlockSums::join_values(AttentionGradientBlock& block, float* scratch) {
  if (rows_.table == nullptr || !rows_.table->adds_to_values) return;
  const int64_t dim = block.attention.value_dim;
  const int64_t stride = whole_panels(table_rows_);
  std::vector<float> panel(static_cast<size_t>(table_panel_size(dim)));
  value_scores_.resize(static_cast<size_t>(num_rows_ * stride));
  table_scores(attention_out_gradient_rows(block, scratch), num_rows_, dim,
               parts_.call().options.learned.value_rows.data(), table_rows_, panel.data(),
               value_scores_.data(), stride);
  // A fill takes away the factor that queries have.
  for (float& score : value_scores_) score *= kQueryFactor;
  rows_.table_scores = value_scores_.data();
  rows_.table_stride = stride;
  block.value_scores.fill = &TileBias::fill;
  block.value_scores.context = &rows_;
}

void BlockSums::sum(AttentionGradientBlock& block) {
  const int64_t stride = table_rows_ + num_buckets_;
  if (stride == 0) return;
  bias_sums_.assign(static_cast<size_t>(num_rows_ * stride), 0);
  block.bias_sums = {&add_bias, this, bias_sums_.data(), stride};
  if (rows_.table == nullptr || !rows_.table->adds_to_values) return;
  value_sums_.assign(static_cast<size_t>(num_rows_ * table_rows_), 0);
  block.probability_sums = {&TileBias::add_weights, &rows_, value_sums_.data(), table_rows_};
}

void BlockSums::add_bias(const void* context, const WeightTile& tile) {
  const auto& self = *static_cast<const BlockSums*>(context);
  if (self.rows_.table != nullptr) TileBias::add_weights(&self.rows_, tile);
  if (self.buckets_ != nullptr) self.add_buckets(tile);
}

void BlockSums::add_buckets(const WeightTile& tile) const {
  for (int64_t i = 0; i < tile.rows; ++i) {
    const float* numbers = tile.data + i * tile.stride;
    float* sums = tile.sums + i * tile.sum_stride + table_rows_;
    const int64_t query = rows_.first_query + (tile.first_row + i) / rows_.group;
    const int64_t position = rows_.query_positions[query];
    for (int64_t n = 0; n < tile.keys; ++n) {
      sums[buckets_->bucket(position - rows_.key_positions[tile.first_key + n])] += numbers[n];
    }
  }
}

void BlockSums::finish(const AttentionGradientBlock& block, float* scratch, float* query_gradients,
                       LearnedSums& learned) const {
  const int64_t head_dim = block.attention.head_dim, value_dim = block.attention.value_dim;
  const float* queries = attention_query_rows(scratch);
  const float* out_gradients = attention_out_gradient_rows(block, scratch);
  const std::span<const float> key_rows = parts_.call().options.learned.key_rows;
  const int64_t heads = parts_.call().q.heads;
  constexpr double undo = 1 / static_cast<double>(kQueryFactor);
  for (int64_t row = 0; row < num_rows_; ++row) {
    const float* sums = bias_sums_.data() + row * (table_rows_ + num_buckets_);
    for (int64_t t = 0; t < table_rows_; ++t) {
      if (query_gradients != nullptr) {
        add_scaled(query_gradients + row * head_dim, key_rows.data() + t * head_dim, head_dim,
                   sums[t]);
      }
      if (!learned.key_rows.empty()) {
        add_scaled(learned.key_rows.data() + t * head_dim, queries + row * head_dim, head_dim,
                   undo * static_cast<double>(sums[t]));
      }
      if (!learned.value_rows.empty()) {
        const float weight = value_sums_[static_cast<size_t>(row * table_rows_ + t)];
        add_scaled(learned.value_rows.data() + t * value_dim, out_gradients + row * value_dim,
                   value_dim, static_cast<double>(weight));
      }
    }
    const int64_t head = place_.kv_head * rows_.group + row % rows_.group;
    for (int64_t b = 0; b < num_buckets_; ++b) {
      learned.buckets[static_cast<size_t>(b * heads + head)] +=
          static_cast<double>(sums[table_rows_ + b]);
    }
  }
}

}  // namespace hodometer::internal
