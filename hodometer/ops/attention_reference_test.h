#pragma once

// Private: attention in double, one score after another, from the actions of a spec and with no
// plan, kernel, tile or array over distance.

#include <algorithm>
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

struct AttentionRow {
  std::vector<double> out;
  double log_sum = -std::numeric_limits<double>::infinity();
  double largest = 0;  ///< |value| that was seen
};

/// Attention over the tensors given, a row at a time.
class AttentionReference {
 public:
  AttentionReference(const AttentionCase& c, const Heads& q, const Heads& k, const Heads& v)
      : c_(c), q_(q), k_(k), v_(v), actions_(actions(c.spec, c.context_length).value()) {
    for (int64_t b = 0; b < k.shape().batch; ++b) {
      for (int64_t n = 0; n < k.shape().length; ++n) {
        const auto position = c.key_positions[static_cast<size_t>(n)];
        for (int64_t h = 0; h < k.shape().heads; ++h) {
          keys_.push_back(c.keys == KeyState::turned ? lanes_of(k, b, n, h)
                                                     : turned(k, b, n, h, position, -1));
        }
      }
    }
  }

  /// The row of query i and head h of sequence b.
  AttentionRow row(int64_t b, int64_t i, int64_t h) const {
    const int64_t kv = h / (q_.shape().heads / k_.shape().heads);
    const int64_t position = c_.query_positions[static_cast<size_t>(i)];
    const std::vector<double> query = turned(q_, b, i, h, position, 1);
    std::vector<double> scores;
    std::vector<int64_t> seen;
    for (int64_t n = 0; n < k_.shape().length; ++n) {
      if (!c_.sees(i, n)) continue;
      const auto key = static_cast<size_t>((b * k_.shape().length + n) * k_.shape().heads + kv);
      scores.push_back(score(query, keys_[key], h, position, distance_to(position, n)));
      seen.push_back(n);
    }
    if (!c_.sinks.empty()) {
      scores.push_back(static_cast<double>(c_.sinks[static_cast<size_t>(h)]));
    }
    AttentionRow row;
    row.out.assign(static_cast<size_t>(v_.shape().head_dim), 0);
    if (scores.empty()) return row;
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double one : scores) sum += std::exp(one - most);
    row.log_sum = most + std::log(sum);
    for (size_t s = 0; s < seen.size(); ++s) {
      add_values(row, std::exp(scores[s] - row.log_sum), b, seen[s], kv,
                 distance_to(position, seen[s]));
    }
    return row;
  }

 private:
  int64_t distance_to(int64_t position, int64_t key) const {
    return position - c_.key_positions[static_cast<size_t>(key)];
  }

  static std::vector<double> lanes_of(const Heads& x, int64_t b, int64_t i, int64_t h) {
    std::vector<double> lanes;
    for (int64_t lane = 0; lane < x.shape().head_dim; ++lane) lanes.push_back(x.at(b, i, h, lane));
    return lanes;
  }

  // Turned in double by every rotation of the spec.
  std::vector<double> turned(const Heads& x, int64_t b, int64_t i, int64_t h, int64_t position,
                             double decay_sign) const {
    std::vector<double> lanes = lanes_of(x, b, i, h);
    for (const Action& action : actions_) {
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

  double score(const std::vector<double>& query, const std::vector<double>& key, int64_t h,
               int64_t position, int64_t distance) const {
    double score = 0, bias = 0, scale = c_.scale;
    for (size_t lane = 0; lane < key.size(); ++lane) score += query[lane] * key[lane];
    for (const Action& action : actions_) {
      if (const auto* one = std::get_if<LogitScale>(&action)) scale *= one->at(position);
      if (const auto* by_distance = std::get_if<DistanceBias>(&action)) {
        bias += by_distance->slopes.empty()
                    ? static_cast<double>(c_.buckets[static_cast<size_t>(
                          by_distance->bucket(distance) * by_distance->num_heads + h)])
                    : -by_distance->slopes[static_cast<size_t>(h)] *
                          std::abs(static_cast<double>(distance));
      }
      if (const auto* table = std::get_if<QueryTableBias>(&action)) {
        const auto first = static_cast<size_t>(table->row(distance)) * query.size();
        for (size_t lane = 0; lane < query.size(); ++lane) {
          score += query[lane] * static_cast<double>(c_.key_rows[first + lane]);
        }
      }
    }
    score *= scale;
    if (c_.soft_cap > 0) score = c_.soft_cap * std::tanh(score / c_.soft_cap);
    return score + bias;
  }

  void add_values(AttentionRow& row, double weight, int64_t b, int64_t key, int64_t kv,
                  int64_t distance) const {
    for (size_t lane = 0; lane < row.out.size(); ++lane) {
      double value = v_.at(b, key, kv, static_cast<int64_t>(lane));
      row.largest = std::max(row.largest, std::abs(value));
      for (const Action& action : actions_) {
        const auto* table = std::get_if<QueryTableBias>(&action);
        if (table == nullptr || !table->adds_to_values) continue;
        value += static_cast<double>(
            c_.value_rows[static_cast<size_t>(table->row(distance)) * row.out.size() + lane]);
      }
      row.out[lane] += weight * value;
    }
  }

  const AttentionCase& c_;
  const Heads& q_;
  const Heads& k_;
  const Heads& v_;
  std::vector<Action> actions_;
  std::vector<std::vector<double>> keys_;  ///< [batch, length, heads] turned
};

}  // namespace hodometer::testing
