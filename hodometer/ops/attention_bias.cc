#include <algorithm>
#include <cmath>
#include <limits>

#include "hodometer/ops/attention_bias-inl.h"

namespace hodometer::internal {

DistanceValues::DistanceValues(const DistanceBias& bias, std::span<const float> table)
    : bias_(bias) {
  if (table.empty()) return;
  reach_ = bias.bucket_starts.back();
  const int64_t places = 2 * reach_ + 1;
  by_place_.resize(static_cast<size_t>(bias.num_heads * places));
  for (int64_t place = 0; place < places; ++place) {
    const int64_t row = bias.bucket(reach_ - place) * bias.num_heads;
    for (int64_t head = 0; head < bias.num_heads; ++head) {
      by_place_[static_cast<size_t>(head * places + place)] =
          table[static_cast<size_t>(row + head)];
    }
  }
}

float DistanceValues::at(int64_t head, int64_t distance) const {
  if (by_place_.empty()) {
    const double reach = static_cast<double>(distance < 0 ? -distance : distance);
    return static_cast<float>(0.0 - bias_.slopes[static_cast<size_t>(head)] * reach);
  }
  const int64_t place = reach_ - std::clamp(distance, -reach_, reach_);
  return by_place_[static_cast<size_t>(head * (2 * reach_ + 1) + place)];
}

void DistanceValues::descend(int64_t head, int64_t last, std::span<float> values) const {
  const auto count = static_cast<int64_t>(values.size());
  if (by_place_.empty()) {
    const double slope = bias_.slopes[static_cast<size_t>(head)];
    const auto first = static_cast<double>(last);
    for (int64_t i = 0; i < count; ++i) {
      values[static_cast<size_t>(i)] =
          static_cast<float>(0.0 - slope * std::abs(first - static_cast<double>(i)));
    }
    return;
  }
  const float* head_values = by_place_.data() + head * (2 * reach_ + 1);
  const int64_t first_near = std::clamp<int64_t>(last - reach_, 0, count);
  const int64_t end_near = std::clamp<int64_t>(last + reach_ + 1, first_near, count);
  const auto begin = values.begin();
  std::fill(begin, begin + first_near, head_values[0]);
  std::copy_n(head_values + (reach_ - last + first_near), end_near - first_near,
              begin + first_near);
  std::fill(begin + end_near, values.end(), head_values[2 * reach_]);
}

void TileBias::fill(const void* context, const BiasTile& tile) {
  const auto& self = *static_cast<const TileBias*>(context);
  for (int64_t row = 0; row < tile.rows; ++row) {
    self.fill_row(tile.first_row + row, tile.first_key,
                  {tile.data + row * tile.stride, static_cast<size_t>(tile.keys)});
  }
}

void TileBias::fill_row(int64_t row, int64_t first_key, std::span<float> scores) const {
  const int64_t query = first_query + row / group;
  const int64_t head = first_head + row % group;
  const int64_t position = query_positions[query];
  const auto keys = static_cast<int64_t>(scores.size());
  if (table != nullptr) {
    fill_table_scores(row, position, first_key, scores);
  } else if (distance == nullptr) {
    std::fill(scores.begin(), scores.end(), 0.0f);
  } else if (key_positions.is_run()) {
    distance->descend(head, position - key_positions[first_key], scores);
  } else {
    for (int64_t n = 0; n < keys; ++n) {
      scores[static_cast<size_t>(n)] = distance->at(head, position - key_positions[first_key + n]);
    }
  }
  if (seen == nullptr) return;
  for (int64_t n = 0; n < keys; ++n) {
    if (!seen->sees(query, first_key + n)) {
      scores[static_cast<size_t>(n)] = -std::numeric_limits<float>::infinity();
    }
  }
}

TileBias::TableRun TileBias::table_run(int64_t position, int64_t first_key, int64_t keys) const {
  const int64_t first = key_positions[first_key] - position + table->left;
  const int64_t low = std::clamp<int64_t>(-first, 0, keys);
  return {first, low, std::clamp<int64_t>(table->num_rows() - first, low, keys)};
}

// Table scores have the queries' factor in them, which is not part of a bias.
void TileBias::fill_table_scores(int64_t row, int64_t position, int64_t first_key,
                                 std::span<float> scores) const {
  constexpr float undo = 1 / kQueryFactor;
  const float* by_row = table_scores + row * table_stride;
  const auto keys = static_cast<int64_t>(scores.size());
  float* score = scores.data();
  if (!key_positions.is_run()) {
    for (int64_t n = 0; n < keys; ++n) {
      score[n] = undo * by_row[table->row(position - key_positions[first_key + n])];
    }
    return;
  }
  const TableRun run = table_run(position, first_key, keys);
  std::fill(score, score + run.low, undo * by_row[0]);
  for (int64_t n = run.low; n < run.high; ++n) score[n] = undo * by_row[run.first + n];
  std::fill(score + run.high, score + keys, undo * by_row[table->num_rows() - 1]);
}

namespace {

// In eight sums, so that additions need not wait for each other.
float sum_of(const float* values, int64_t count) {
  float sums[8] = {};
  int64_t n = 0;
  for (; n + 8 <= count; n += 8) {
    for (int64_t i = 0; i < 8; ++i) sums[i] += values[n + i];
  }
  for (; n < count; ++n) sums[n % 8] += values[n];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

}  // namespace

void TileBias::add_weights(const void* context, const WeightTile& tile) {
  const auto& self = *static_cast<const TileBias*>(context);
  const int64_t last = self.table->num_rows() - 1;
  for (int64_t i = 0; i < tile.rows; ++i) {
    const float* weights = tile.data + i * tile.stride;
    float* sums = tile.sums + i * tile.sum_stride;
    const int64_t row = tile.first_row + i;
    const int64_t position = self.query_positions[self.first_query + row / self.group];
    if (!self.key_positions.is_run()) {
      for (int64_t n = 0; n < tile.keys; ++n) {
        sums[self.table->row(position - self.key_positions[tile.first_key + n])] += weights[n];
      }
      continue;
    }
    const TableRun run = self.table_run(position, tile.first_key, tile.keys);
    sums[0] += sum_of(weights, run.low);
    for (int64_t n = run.low; n < run.high; ++n) sums[run.first + n] += weights[n];
    sums[last] += sum_of(weights + run.high, tile.keys - run.high);
  }
}

}  // namespace hodometer::internal
