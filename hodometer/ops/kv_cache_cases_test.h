#pragma once

// Private: caches, methods and the truth about keys in double, which the tests of the cache share.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "hodometer/ops/attention_cases_test.h"
#include "hodometer/ops/kv_cache.h"

namespace hodometer::testing {

inline std::shared_ptr<const Plan> shared_plan(const PositionSpec& spec, int64_t context_length,
                                               AngleMode mode = AngleMode::exact) {
  return std::make_shared<const Plan>(make_plan(spec, context_length, mode).value());
}
inline std::shared_ptr<const Plan> shared_plan(std::string_view text, int64_t context_length = 1) {
  return shared_plan(spec_of(text), context_length);
}

inline std::string rotary_text(int64_t head_dim, std::string_view rest) {
  return R"({"method":"rotary","head_dim":)" + std::to_string(head_dim) + R"(,"base":10000,)" +
         std::string(rest) + "}";
}

/// A LongRoPE that leaves its short factors at 40, or at `trained`.
inline std::string longrope_text(int64_t head_dim, int64_t trained = 40) {
  std::string shorter, longer;
  for (int64_t pair = 0; pair < head_dim / 2; ++pair) {
    shorter += (pair > 0 ? "," : "") + std::to_string(1 + 0.01 * static_cast<double>(pair));
    longer += (pair > 0 ? "," : "") + std::to_string(1 + 3 * static_cast<double>(pair));
  }
  return rotary_text(head_dim, R"("layout":"half_split","schedule":{"rope_type":"longrope",)"
                               R"("short_factor":[)" +
                                   shorter + R"(],"long_factor":[)" + longer +
                                   R"(],"short_mscale":1.1,"long_mscale":1.3,)"
                                   R"("original_max_position_embeddings":)" +
                                   std::to_string(trained) + "}");
}

inline std::string dynamic_text(int64_t head_dim, int64_t trained = 40) {
  return rotary_text(head_dim, R"("layout":"half_split","schedule":{"rope_type":"dynamic",)"
                               R"("factor":2,"original_max_position_embeddings":)" +
                                   std::to_string(trained) + "}");
}

/// Every method that acts in attention, and every kind of schedule.
inline std::vector<AttentionMethod> cache_methods(int64_t head_dim, int64_t num_heads) {
  std::vector<AttentionMethod> methods = attention_methods(head_dim, num_heads);
  methods.push_back({"interleaved", rotary_text(head_dim, R"("layout":"interleaved")")});
  methods.push_back({"linear", rotary_text(head_dim, R"("layout":"half_split","schedule":{
                                                "rope_type":"linear","factor":8})")});
  methods.push_back({"llama3", rotary_text(head_dim, R"("layout":"half_split","schedule":{
      "rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,
      "original_max_position_embeddings":8192})")});
  methods.push_back({"dynamic", dynamic_text(head_dim)});
  methods.push_back({"longrope", longrope_text(head_dim)});
  const int64_t pairs = head_dim / 2;
  methods.push_back({"mrope", R"({"method":"mrope","head_dim":)" + std::to_string(head_dim) +
                                  R"(,"base":10000,"layout":"half_split","mrope_section":[)" +
                                  std::to_string(pairs - 2 * (pairs / 3)) + "," +
                                  std::to_string(pairs / 3) + "," + std::to_string(pairs / 3) +
                                  R"(],"section_layout":"chunked"})"});
  return methods;
}

inline const std::vector<KvType> kv_types{KvType::float32, KvType::bfloat16, KvType::float16,
                                          KvType::int8};
inline std::string kv_type_name(KvType type) {
  return std::vector<std::string>{"float32", "bfloat16", "float16",
                                  "int8"}[static_cast<size_t>(type)];
}
inline const std::vector<KvRoom> kv_rooms{KvGrowing{3}, KvFixed{160}, KvPaged{7}};

/// What one rounding may change, as a share of the length of a pair of lanes.
inline double unit_of(KvType type) {
  switch (type) {
    case KvType::float32:
      return 0x1p-24;
    case KvType::bfloat16:
      return 0x1p-8;
    case KvType::float16:
      return 0x1p-11;
    case KvType::int8:
      break;
  }
  return 0;  // goes by the row
}

/// A key turned in double, and of each lane the length of the pair that it turns in.
struct ExactKey {
  std::vector<double> lanes, lengths;
};
inline ExactKey exact_key(const std::vector<Action>& actions, std::vector<double> lanes,
                          const int64_t* position) {
  ExactKey key{std::move(lanes), {}};
  for (const double lane : key.lanes) key.lengths.push_back(std::abs(lane));
  for (const Action& action : actions) {
    const auto* rotation = std::get_if<RotatePairs>(&action);
    if (rotation == nullptr) continue;
    const int64_t pairs = rotation->rotary_dim / 2;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const auto j = static_cast<size_t>(pair);
      const auto at = static_cast<double>(position[rotation->axis.empty() ? 0 : rotation->axis[j]]);
      const CosSin turn = exact_cos_sin(rotation->inv_freq[j], at);
      const bool half = rotation->layout == PairLayout::half_split;
      const auto x_lane = static_cast<size_t>(rotation->rotary_start + (half ? pair : 2 * pair));
      const size_t y_lane = x_lane + static_cast<size_t>(half ? pairs : 1);
      double magnitude = rotation->magnitude;
      if (rotation->decay) {
        const Decay& decay = *rotation->decay;
        magnitude *= std::exp(-decay.log_zeta[j] * (at - decay.center) / decay.scale_base);
      }
      const double u = key.lanes[x_lane], w = key.lanes[y_lane];
      key.lanes[x_lane] = magnitude * (u * turn.cos - w * turn.sin);
      key.lanes[y_lane] = magnitude * (w * turn.cos + u * turn.sin);
      key.lengths[x_lane] = key.lengths[y_lane] = magnitude * std::hypot(u, w);
    }
  }
  return key;
}

/// Tokens that a cache should hold, by their row in the tensors that were appended.
struct CacheTruth {
  CacheTruth(std::string_view text, int64_t length, int64_t rows, int64_t kv_heads,
             int64_t head_dim, int64_t value_dim)
      : spec(spec_of(text)),
        context_length(length),
        k(Heads::bshd(DType::float32, 1, rows, kv_heads, head_dim, 21)),
        v(Heads::bshd(DType::float32, 1, rows, kv_heads, value_dim, 22)) {}

  HeadsView key_rows(int64_t first, int64_t count) { return part(k.view(), first, count); }
  HeadsView value_rows(int64_t first, int64_t count) { return part(v.view(), first, count); }
  static HeadsView part(HeadsView view, int64_t first, int64_t count) {
    view.data = static_cast<float*>(view.data) + first * view.length_stride;
    view.length = count;
    return view;
  }
  /// Appends the next `count` rows at positions from `first` on, on every axis, to a cache and
  /// here.
  void append(KvCache& cache, int64_t count, int64_t first) {
    const PositionView view = PositionView::range(first).same_on_axes(cache.num_axes());
    const Status done = cache.append(key_rows(next, count), value_rows(next, count), view);
    ASSERT_TRUE(done.ok()) << done.error().message;
    for (int64_t i = 0; i < count; ++i) {
      sources.push_back(next + i);
      positions.insert(positions.end(), static_cast<size_t>(cache.num_axes()), first + i);
    }
    next += count;
  }
  std::vector<int64_t> axis_positions(int64_t axis, int64_t axes) const {
    std::vector<int64_t> result;
    for (size_t i = static_cast<size_t>(axis); i < positions.size();
         i += static_cast<size_t>(axes)) {
      result.push_back(positions[i]);
    }
    return result;
  }
  void keep(int64_t begin, int64_t end) {  // one axis
    sources = {sources.begin() + begin, sources.begin() + end};
    positions = {positions.begin() + begin, positions.begin() + end};
  }
  void drop(int64_t begin, int64_t end) {
    sources.erase(sources.begin() + begin, sources.begin() + end);
    positions.erase(positions.begin() + begin, positions.begin() + end);
  }
  void shift(int64_t begin, int64_t end, int64_t distance) {
    for (int64_t i = begin; i < end; ++i) positions[static_cast<size_t>(i)] += distance;
  }

  PositionSpec spec;
  int64_t context_length;
  Heads k, v;
  int64_t next = 0;                ///< the first row that is not appended yet
  std::vector<int64_t> sources;    ///< of each token
  std::vector<int64_t> positions;  ///< [tokens, axes]
};

/// The largest error of keys and of values, in roundings of the stored type: of a lane's pair, or,
/// for int8, of the largest lane that the row may have had when it was stored. Beyond what float32
/// arithmetic adds, which is 6e-7 of the pair.
struct CacheError {
  double keys = 0, values = 0;
};
inline CacheError error_of(const KvCache& cache, const CacheTruth& truth) {
  CacheError error;
  const KvCacheOptions& options = cache.options();
  const auto list = actions(truth.spec, truth.context_length).value();
  Heads keys =
      Heads::bshd(DType::float32, 1, cache.tokens(), options.num_kv_heads, options.head_dim);
  Heads values =
      Heads::bshd(DType::float32, 1, cache.tokens(), options.num_kv_heads, options.value_dim);
  EXPECT_TRUE(cache.read_keys({0, cache.tokens()}, keys.view()).ok());
  EXPECT_TRUE(cache.read_values({0, cache.tokens()}, values.view()).ok());
  const auto share = [&](double error_here, double length, double largest) {
    // sqrt(2): the errors of both lanes of a pair may turn into one.
    const double rounding = options.type == KvType::int8
                                ? 1.0001 * std::sqrt(2.0) * largest / 254
                                : unit_of(options.type) * length +
                                      (options.type == KvType::float16 ? 0x1p-24 : 0x1p-140);
    return std::max(0.0, std::abs(error_here) - 6e-7 * length) / rounding;
  };
  for (size_t i = 0; i < truth.sources.size(); ++i) {
    const auto token = static_cast<int64_t>(i);
    for (int64_t head = 0; head < options.num_kv_heads; ++head) {
      std::vector<double> lanes;
      for (int64_t lane = 0; lane < options.head_dim; ++lane) {
        lanes.push_back(truth.k.at(0, truth.sources[i], head, lane));
      }
      const ExactKey want =
          exact_key(list, lanes, truth.positions.data() + token * cache.num_axes());
      const double largest = *std::max_element(want.lengths.begin(), want.lengths.end());
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        error.keys =
            std::max(error.keys,
                     share(keys.at(0, token, head, static_cast<int64_t>(lane)) - want.lanes[lane],
                           want.lengths[lane], largest));
      }
      double largest_value = 0;
      for (int64_t lane = 0; lane < options.value_dim; ++lane) {
        largest_value =
            std::max(largest_value, std::abs(truth.v.at(0, truth.sources[i], head, lane)));
      }
      for (int64_t lane = 0; lane < options.value_dim; ++lane) {
        const double value = truth.v.at(0, truth.sources[i], head, lane);
        error.values = std::max(error.values, share(values.at(0, token, head, lane) - value,
                                                    std::abs(value), largest_value));
      }
    }
  }
  return error;
}

inline void expect_holds(const KvCache& cache, const CacheTruth& truth) {
  ASSERT_EQ(cache.tokens(), static_cast<int64_t>(truth.sources.size()));
  ASSERT_EQ(std::vector<int64_t>(cache.positions().begin(), cache.positions().end()),
            truth.positions);
  const CacheError error = error_of(cache, truth);
  EXPECT_LE(error.keys, 1);
  EXPECT_LE(error.values, 1);
}

inline std::string words_of(const Status& status) {
  return status.ok() ? "accepted" : status.error().message;
}

}  // namespace hodometer::testing
