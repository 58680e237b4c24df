#pragma once

// Private: attention in double, one score after another, from the actions of a spec and with no
// plan, kernel, tile or array over distance.

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "hodometer/methods/position_spec.h"
#include "hodometer/ops/attention.h"
#include "hodometer/ops/exact_table.h"
#include "hodometer/ops/testing-inl.h"

namespace hodometer::testing {

/// What a reference needs beside the tensors, for one sequence.
struct AttentionCase {
  PositionSpec spec;
  int64_t context_length = 1;
  std::vector<int64_t> query_positions, key_positions;
  std::function<bool(int64_t query, int64_t key)> sees;  ///< by index of the token
  KeyState keys = KeyState::unturned;
  double scale = 1;
  double soft_cap = 0;
  std::vector<float> sinks = {};
  std::vector<float> buckets = {}, key_rows = {}, value_rows = {};
};

/// A head of a token, turned in double by every rotation of the spec.
inline std::vector<double> turned(const AttentionCase& c, const Heads& x, int64_t b, int64_t i,
                                  int64_t h, int64_t position, double decay_sign) {
  std::vector<double> lanes;
  for (int64_t lane = 0; lane < x.shape().head_dim; ++lane) lanes.push_back(x.at(b, i, h, lane));
  const auto list = actions(c.spec, c.context_length).value();
  for (const Action& action : list) {
    const auto* rotation = std::get_if<RotatePairs>(&action);
    if (rotation == nullptr) continue;
    const int64_t pairs = rotation->rotary_dim / 2;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const CosSin turn = exact_cos_sin(rotation->inv_freq[static_cast<size_t>(pair)],
                                        static_cast<double>(position));
      const bool half = rotation->layout == PairLayout::half_split;
      const auto x_lane = static_cast<size_t>(rotation->rotary_start + (half ? pair : 2 * pair));
      const size_t y_lane = x_lane + static_cast<size_t>(half ? pairs : 1);
      double magnitude = rotation->magnitude;
      if (rotation->decay) {
        const Decay& decay = *rotation->decay;
        magnitude *= std::exp(decay_sign * decay.log_zeta[static_cast<size_t>(pair)] *
                              (static_cast<double>(position) - decay.center) / decay.scale_base);
      }
      const double u = lanes[x_lane], w = lanes[y_lane];
      lanes[x_lane] = magnitude * (u * turn.cos - w * turn.sin);
      lanes[y_lane] = magnitude * (w * turn.cos + u * turn.sin);
    }
  }
  return lanes;
}

struct AttentionRow {
  std::vector<double> out;
  double log_sum = -std::numeric_limits<double>::infinity();
  double largest = 0;  ///< |value| that was seen
};

/// The row of query i and head h of sequence b.
inline AttentionRow reference_row(const AttentionCase& c, const Heads& q, const Heads& k,
                                  const Heads& v, int64_t b, int64_t i, int64_t h) {
  const int64_t kv = h / (q.shape().heads / k.shape().heads);
  const int64_t position = c.query_positions[static_cast<size_t>(i)];
  const std::vector<double> query = turned(c, q, b, i, h, position, 1);
  const auto list = actions(c.spec, c.context_length).value();
  double scale = c.scale;
  for (const Action& action : list) {
    if (const auto* one = std::get_if<LogitScale>(&action)) scale *= one->at(position);
  }
  const auto value_dim = static_cast<size_t>(v.shape().head_dim);
  AttentionRow row;
  row.out.assign(value_dim, 0);
  std::vector<double> scores;
  std::vector<int64_t> seen;
  for (int64_t n = 0; n < k.shape().length; ++n) {
    if (!c.sees(i, n)) continue;
    const int64_t key_position = c.key_positions[static_cast<size_t>(n)];
    const int64_t distance = position - key_position;
    std::vector<double> key;
    if (c.keys == KeyState::unturned) {
      key = turned(c, k, b, n, kv, key_position, -1);
    } else {
      for (int64_t lane = 0; lane < k.shape().head_dim; ++lane) key.push_back(k.at(b, n, kv, lane));
    }
    double score = 0;
    for (size_t lane = 0; lane < key.size(); ++lane) score += query[lane] * key[lane];
    double bias = 0;
    for (const Action& action : list) {
      if (const auto* by_distance = std::get_if<DistanceBias>(&action)) {
        bias += by_distance->slopes.empty()
                    ? static_cast<double>(c.buckets[static_cast<size_t>(
                          by_distance->bucket(distance) * by_distance->num_heads + h)])
                    : -by_distance->slopes[static_cast<size_t>(h)] *
                          std::abs(static_cast<double>(distance));
      }
      if (const auto* table = std::get_if<QueryTableBias>(&action)) {
        const auto first = static_cast<size_t>(table->row(distance)) * query.size();
        for (size_t lane = 0; lane < query.size(); ++lane) {
          score += query[lane] * static_cast<double>(c.key_rows[first + lane]);
        }
      }
    }
    score *= scale;
    if (c.soft_cap > 0) score = c.soft_cap * std::tanh(score / c.soft_cap);
    scores.push_back(score + bias);
    seen.push_back(n);
  }
  if (!c.sinks.empty()) {
    scores.push_back(static_cast<double>(c.sinks[static_cast<size_t>(h)]));
  }
  if (scores.empty()) return row;
  double most = scores[0];
  for (const double score : scores) most = std::max(most, score);
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - most);
  row.log_sum = most + std::log(sum);
  for (size_t s = 0; s < seen.size(); ++s) {
    const double weight = std::exp(scores[s] - row.log_sum);
    for (size_t lane = 0; lane < value_dim; ++lane) {
      double value = v.at(b, seen[s], kv, static_cast<int64_t>(lane));
      row.largest = std::max(row.largest, std::abs(value));
      for (const Action& action : list) {
        const auto* table = std::get_if<QueryTableBias>(&action);
        if (table == nullptr || !table->adds_to_values) continue;
        const int64_t distance = position - c.key_positions[static_cast<size_t>(seen[s])];
        value += static_cast<double>(
            c.value_rows[static_cast<size_t>(table->row(distance)) * value_dim + lane]);
      }
      row.out[lane] += weight * value;
    }
  }
  return row;
}

}  // namespace hodometer::testing
