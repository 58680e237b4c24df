#include "hodometer/kernels/attention_backward.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/attention_backward.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/attention_softmax-inl.h"
#include "hodometer/kernels/attention_tiles-inl.h"

#ifndef HODOMETER_KERNELS_ATTENTION_BACKWARD_ONCE_
#define HODOMETER_KERNELS_ATTENTION_BACKWARD_ONCE_
namespace hodometer {
namespace {

// Keys whose columns, rows and gradients are worked on together; a multiple of every kTileWidth,
// and of every kTileRows, for keys are rows of their own gradients.
constexpr int64_t kTileKeys = 192;
// Query rows that meet a tile of keys together: as many terms has a sum before it goes back to
// memory. A multiple of every kTileRows.
constexpr int64_t kPanelRows = 96;
// The most of every kTileRows.
constexpr int64_t kMostTileRows = 12;

// What lies in the scratch memory, as offsets from its first cache line; queries come first.
struct Scratch {
  explicit Scratch(const AttentionGradientBlock& block) {
    const AttentionBlock& attention = block.attention;
    rows = attention.tokens * attention.group;
    padded_rows = (rows + kPanelRows - 1) / kPanelRows * kPanelRows;
    key_lanes = whole_panels(attention.head_dim);
    value_lanes = whole_panels(attention.value_dim);
    queries = Take(padded_rows * attention.head_dim);
    out_gradients = Take(padded_rows * attention.value_dim);
    deltas = Take(padded_rows);
    log_sums = Take(padded_rows);
    query_gradients = Take(padded_rows * key_lanes);
    key_columns = Take(kTileKeys * attention.head_dim);
    value_columns = Take(kTileKeys * attention.value_dim);
    key_rows = Take(kTileKeys * key_lanes);
    key_gradients = Take(kTileKeys * key_lanes);
    value_gradients = Take(kTileKeys * value_lanes);
    query_panels = Take(kPanelRows * key_lanes);
    out_panels = Take(kPanelRows * value_lanes);
    probabilities = Take(kPanelRows * kTileKeys);
    gradients = Take(kPanelRows * kTileKeys);
    slopes = Take(attention.soft_cap > 0 ? kMostTileRows * kTileKeys : 0);
    bias = Take(kMostTileRows * kTileKeys);
    loaded = Take(kTileKeys * loaded_lanes(attention));
  }
  int64_t Take(int64_t floats) {
    const int64_t at = size;
    size += (floats + 15) / 16 * 16;
    return at;
  }
  int64_t size = 0;
  int64_t rows, padded_rows, key_lanes, value_lanes;
  int64_t queries, out_gradients, deltas, log_sums, query_gradients, key_columns, value_columns,
      key_rows, key_gradients, value_gradients, query_panels, out_panels, probabilities, gradients,
      slopes, bias, loaded;
};

}  // namespace
}  // namespace hodometer
#endif

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

// body(data, stride of tokens, stride of heads, lane) of rows, in elements of their type.
template <class Body>
HWY_INLINE void WithQueryRows(const QueryRows<const void>& rows, const Body& body) {
  WithLane(rows.dtype, [&](auto lane) {
    body(static_cast<const typename decltype(lane)::Memory*>(rows.data), lane);
  });
}

void MultiplyRows(const RowProducts& products) {
  const FullTag d;
  const hn::CappedTag<float, 1> d1;
  WithQueryRows(products.a, [&](const auto* a_data, auto a_lane) {
    WithQueryRows(products.b, [&](const auto* b_data, auto b_lane) {
      for (int64_t token = 0; token < products.tokens; ++token) {
        for (int64_t head = 0; head < products.heads; ++head) {
          const auto* a = a_data + token * products.a.token_stride + head * products.a.head_stride;
          const auto* b = b_data + token * products.b.token_stride + head * products.b.head_stride;
          FullVector sum = hn::Zero(d);
          int64_t i = 0;
          for (; i + kLanes <= products.dim; i += kLanes) {
            sum = hn::MulAdd(LoadLanes(d, a_lane, a + i), LoadLanes(d, b_lane, b + i), sum);
          }
          float total = hn::GetLane(hn::SumOfLanes(d, sum));
          for (; i < products.dim; ++i) {
            total +=
                hn::GetLane(hn::Mul(LoadLanes(d1, a_lane, a + i), LoadLanes(d1, b_lane, b + i)));
          }
          products.data[token * products.token_stride + head * products.head_stride] = total;
        }
      }
    });
  });
}

void LoadOutGradients(const AttentionGradientBlock& block, float* memory) {
  const Scratch at(block);
  const AttentionBlock& attention = block.attention;
  float* dst = memory + at.out_gradients;
  WithQueryRows(block.out_gradient, [&](const auto* src, auto lane) {
    for (int64_t token = 0; token < attention.tokens; ++token) {
      for (int64_t head = 0; head < attention.group; ++head, dst += attention.value_dim) {
        const auto* row =
            src + token * block.out_gradient.token_stride + head * block.out_gradient.head_stride;
        ForLanes(attention.value_dim,
                 [&](auto d, int64_t i) { hn::StoreU(LoadLanes(d, lane, row + i), d, dst + i); });
      }
    }
  });
  std::fill(dst, dst + (at.padded_rows - at.rows) * attention.value_dim, 0.0f);
  const QueryRows<const void>& gradient = block.out_gradient;
  const QueryRows<void>& out = attention.out;
  MultiplyRows({attention.tokens,
                attention.group,
                attention.value_dim,
                gradient,
                {out.dtype, out.data, out.token_stride, out.head_stride},
                memory + at.deltas,
                attention.group,
                1});
  for (int64_t row = 0; row < at.rows; ++row) {
    const float log_sum = block.log_sum[row / attention.group * block.log_sum_token_stride +
                                        row % attention.group * block.log_sum_head_stride];
    // Nothing is as small as +inf makes it: a row that sees nothing has no probability.
    memory[at.log_sums + row] =
        log_sum == kHidden ? std::numeric_limits<float>::infinity() : log_sum * kLog2E;
  }
}

HWY_INLINE void AddRow(const float* from, int64_t count, float* to) {
  ForLanes(count, [&](auto d, int64_t i) {
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  });
}

// The slopes of the soft cap at scores [begin, end).
HWY_INLINE void CapSlopes(const float* scores, int64_t begin, int64_t end, float soft_cap,
                          float* slopes) {
  const FullTag d;
  const FullVector one = hn::Set(d, 1.0f);
  const FullVector factor = hn::Set(d, -2 / soft_cap);
  for (int64_t n = begin; n < end; n += kLanes) {
    const FullVector tanh = SoftCap(d, hn::LoadU(d, scores + n), one, factor);
    hn::StoreU(hn::NegMulAdd(tanh, tanh, one), d, slopes + n);
  }
}

// scores become probabilities, and products of the output's gradient with values become gradients
// of the scores.
HWY_INLINE void ScoreGradients(float* scores, float* products, int64_t begin, int64_t end,
                               float log_sum, float delta) {
  const FullTag d;
  const FullVector all = hn::Set(d, log_sum), mean = hn::Set(d, delta);
  for (int64_t n = begin; n < end; n += kLanes) {
    const FullVector p = Exp2(d, hn::Sub(hn::LoadU(d, scores + n), all));
    hn::StoreU(p, d, scores + n);
    hn::StoreU(hn::Mul(p, hn::Sub(hn::LoadU(d, products + n), mean)), d, products + n);
  }
}

// The work on one block.
class Backward {
 public:
  Backward(const AttentionGradientBlock& block, float* memory)
      : block_(block), attention_(block.attention), at_(block), memory_(memory) {}

  void Run() {
    float* queries = memory_ + at_.queries;
    std::fill(queries + at_.rows * attention_.head_dim,
              queries + at_.padded_rows * attention_.head_dim, 0.0f);
    if (block_.query_gradient.data != nullptr) {
      std::fill_n(memory_ + at_.query_gradients, at_.padded_rows * at_.key_lanes, 0.0f);
    }
    const int64_t first = block_.keys.begin / kTileKeys * kTileKeys;
    for (int64_t tile = first; tile < block_.keys.end; tile += kTileKeys) {
      const KeyRange keys = Seen(0, attention_.tokens, tile);
      if (keys.begin < keys.end) Tile(tile, keys);
    }
    AddQueryGradients();
  }

 private:
  static constexpr int kTiles = kPanelRows / kTileRows;

  // What tokens [first, last) see of a tile's keys.
  KeyRange Seen(int64_t first, int64_t last, int64_t tile) const {
    const int64_t least = std::max(tile, block_.keys.begin);
    const int64_t most = std::min(tile + kTileKeys, block_.keys.end);
    KeyRange seen{tile + kTileKeys, tile};
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = std::max(attention_.ranges[i].begin, least);
      const int64_t end = std::min(attention_.ranges[i].end, most);
      if (begin >= end) continue;
      seen = {std::min(seen.begin, begin), std::max(seen.end, end)};
    }
    return seen;
  }

  void Tile(int64_t tile, const KeyRange& keys) {
    float* loaded = memory_ + at_.loaded;
    WithRows(attention_.key, attention_.head_dim, keys, loaded,
             [&](auto lane, const auto* data, int64_t stride) {
               using Lane = decltype(lane);
               PackColumns<Lane>(data, stride, attention_.head_dim, tile, keys.begin, keys.end,
                                 memory_ + at_.key_columns);
               if (block_.query_gradient.data == nullptr) return;
               PackRows<Lane>(data, stride, attention_.head_dim, tile, keys.begin, keys.end,
                              kTileKeys, memory_ + at_.key_rows);
             });
    WithRows(attention_.value, attention_.value_dim, keys, loaded,
             [&](auto lane, const auto* data, int64_t stride) {
               PackColumns<decltype(lane)>(data, stride, attention_.value_dim, tile, keys.begin,
                                           keys.end, memory_ + at_.value_columns);
             });
    std::fill_n(memory_ + at_.key_gradients, kTileKeys * at_.key_lanes, 0.0f);
    std::fill_n(memory_ + at_.value_gradients, kTileKeys * at_.value_lanes, 0.0f);
    for (int64_t row = 0; row < at_.rows; row += kPanelRows) Panel(tile, row);
    AddKeyGradients(block_.key_gradient, at_.key_gradients, at_.key_lanes, attention_.head_dim,
                    tile, keys);
    AddKeyGradients(block_.value_gradient, at_.value_gradients, at_.value_lanes,
                    attention_.value_dim, tile, keys);
  }

  void AddKeyGradients(const KeyGradient& to, int64_t from, int64_t lanes, int64_t dim,
                       int64_t tile, const KeyRange& keys) const {
    if (to.data == nullptr) return;
    for (int64_t n = keys.begin; n < keys.end; ++n) {
      AddRow(memory_ + from + (n - tile) * lanes, dim, to.data + n * to.stride);
    }
  }

  void AddQueryGradients() const {
    const QueryGradient& to = block_.query_gradient;
    if (to.data == nullptr) return;
    for (int64_t row = 0; row < at_.rows; ++row) {
      AddRow(memory_ + at_.query_gradients + row * at_.key_lanes, attention_.head_dim,
             to.data + row / attention_.group * to.token_stride +
                 row % attention_.group * to.head_stride);
    }
  }

  // A tile of keys and rows [first_row, first_row + kPanelRows).
  void Panel(int64_t tile, int64_t first_row) {
    KeyRange seen[kTiles];  // from the tile's first key on
    KeyRange all{kTileKeys, 0};
    for (int i = 0; i < kTiles; ++i) {
      const int64_t row = first_row + i * kTileRows;
      const int64_t last = std::min(row + kTileRows, at_.rows) - 1;
      seen[i] = row < at_.rows ? Seen(row / attention_.group, last / attention_.group + 1, tile)
                               : KeyRange{tile, tile};
      seen[i] = {seen[i].begin - tile, seen[i].end - tile};
      all = {std::min(all.begin, seen[i].begin), std::max(all.end, seen[i].end)};
    }
    if (all.begin >= all.end) return;
    float* probabilities = memory_ + at_.probabilities;
    float* gradients = memory_ + at_.gradients;
    Products(memory_ + at_.queries, attention_.head_dim, at_.key_columns, first_row, seen, all,
             probabilities);
    Products(memory_ + at_.out_gradients, attention_.value_dim, at_.value_columns, first_row, seen,
             all, gradients);
    for (int i = 0; i < kTiles; ++i) FinishTile(tile, first_row, i, seen[i]);
    if (block_.query_gradient.data != nullptr) ToQueries(first_row, seen);
    if (block_.key_gradient.data != nullptr) {
      ToKeys(gradients, memory_ + at_.queries, attention_.head_dim, first_row, seen, all,
             memory_ + at_.query_panels, memory_ + at_.key_gradients, at_.key_lanes);
    }
    if (block_.value_gradient.data != nullptr) {
      ToKeys(probabilities, memory_ + at_.out_gradients, attention_.value_dim, first_row, seen, all,
             memory_ + at_.out_panels, memory_ + at_.value_gradients, at_.value_lanes);
    }
  }

  // products of rows with the columns of keys or values that they see.
  void Products(const float* rows, int64_t dim, int64_t columns, int64_t first_row,
                const KeyRange* seen, const KeyRange& all, float* products) const {
    for (int64_t n = all.begin / kTileWidth * kTileWidth; n < all.end; n += kTileWidth) {
      const float* panel = memory_ + columns + n * dim;
      for (int i = 0; i < kTiles; ++i) {
        if (seen[i].begin >= n + kTileWidth || seen[i].end <= n) continue;
        MultiplyTile<FromZero, kTileRows>(rows + (first_row + i * kTileRows) * dim, dim, panel,
                                          kTileWidth, dim, products + i * kTileRows * kTileKeys + n,
                                          kTileKeys);
      }
    }
  }

  // Makes products to probabilities and gradients of scores, with zeros where a row sees nothing.
  void FinishTile(int64_t tile, int64_t panel_row, int i, const KeyRange& seen) {
    float* probabilities = memory_ + at_.probabilities + i * kTileRows * kTileKeys;
    float* gradients = memory_ + at_.gradients + i * kTileRows * kTileKeys;
    const int64_t first_row = panel_row + i * kTileRows;
    const int64_t rows = std::clamp<int64_t>(at_.rows - first_row, 0, kTileRows);
    const ScoreTile scores{first_row,         rows, tile, seen, probabilities, kTileKeys,
                           memory_ + at_.bias};
    if (seen.begin >= seen.end) {
      std::fill_n(probabilities, kTileRows * kTileKeys, 0.0f);
      std::fill_n(gradients, kTileRows * kTileKeys, 0.0f);
      return;
    }
    AddValueScores(scores, gradients);
    const ScoreBias& bias = attention_.bias;
    if (bias.data == nullptr && bias.fill != nullptr) bias.fill(bias.context, BiasOf(scores));
    for (int64_t row = 0; row < kTileRows; ++row) {
      const int64_t begin = row < rows ? scores.Begin() : kTileKeys;
      if (row < rows) FinishRow(scores, row, gradients + row * kTileKeys);
      for (float* numbers : {probabilities, gradients}) {
        float* line = numbers + row * kTileKeys;
        std::fill(line, line + begin, 0.0f);
        if (row < rows) std::fill(line + scores.End(), line + kTileKeys, 0.0f);
      }
    }
    AddSums(block_.probability_sums, scores, probabilities);
    AddSums(block_.bias_sums, scores, gradients);
    if (attention_.soft_cap > 0) MultiplySlopes(scores, gradients);
  }

  static BiasTile BiasOf(const ScoreTile& scores) {
    return {scores.first_row,
            scores.rows,
            scores.first_key + scores.seen.begin,
            scores.seen.end - scores.seen.begin,
            scores.bias + scores.seen.begin,
            scores.stride};
  }

  void AddValueScores(const ScoreTile& scores, float* products) const {
    if (block_.value_scores.fill == nullptr) return;
    block_.value_scores.fill(block_.value_scores.context, BiasOf(scores));
    for (int64_t row = 0; row < scores.rows; ++row) {
      const int64_t at = row * kTileKeys + scores.seen.begin;
      AddRow(scores.bias + at, scores.seen.end - scores.seen.begin, products + at);
    }
  }

  void FinishRow(const ScoreTile& scores, int64_t i, float* gradients) {
    const int64_t row = scores.first_row + i;
    const int64_t token = row / attention_.group;
    if (attention_.soft_cap > 0) {
      CapSlopes(scores.Row(i), scores.Begin(), scores.End(), attention_.soft_cap,
                memory_ + at_.slopes + i * kTileKeys);
    }
    FinishScores(attention_, scores, i, token, row - token * attention_.group);
    ScoreGradients(scores.Row(i), gradients, scores.Begin(), scores.End(),
                   memory_[at_.log_sums + row], memory_[at_.deltas + row]);
  }

  static void AddSums(const RowSums& sums, const ScoreTile& scores, const float* numbers) {
    if (sums.add == nullptr) return;
    sums.add(sums.context,
             {scores.first_row, scores.rows, scores.first_key + scores.seen.begin,
              scores.seen.end - scores.seen.begin, numbers + scores.seen.begin, scores.stride,
              sums.sums + scores.first_row * sums.stride, sums.stride});
  }

  // The gradient of a score before its cap.
  void MultiplySlopes(const ScoreTile& scores, float* gradients) const {
    const FullTag d;
    for (int64_t row = 0; row < scores.rows; ++row) {
      for (int64_t n = scores.Begin(); n < scores.End(); n += kLanes) {
        float* to = gradients + row * kTileKeys + n;
        const FullVector slope = hn::LoadU(d, memory_ + at_.slopes + row * kTileKeys + n);
        hn::StoreU(hn::Mul(hn::LoadU(d, to), slope), d, to);
      }
    }
  }

  // Gradients of scores times keys.
  void ToQueries(int64_t first_row, const KeyRange* seen) const {
    float* to = memory_ + at_.query_gradients + first_row * at_.key_lanes;
    for (int64_t column = 0; column < attention_.head_dim; column += kTileWidth) {
      const float* panel = memory_ + at_.key_rows + column * kTileKeys;
      for (int i = 0; i < kTiles; ++i) {
        if (seen[i].begin >= seen[i].end) continue;
        MultiplyTile<FromMemory, kTileRows>(
            memory_ + at_.gradients + i * kTileRows * kTileKeys + seen[i].begin, kTileKeys,
            panel + seen[i].begin * kTileWidth, kTileWidth, seen[i].end - seen[i].begin,
            to + i * kTileRows * at_.key_lanes + column, at_.key_lanes);
      }
    }
  }

  // to[key] += the numbers of rows for the key times the rows.
  void ToKeys(const float* numbers, const float* rows, int64_t dim, int64_t first_row,
              const KeyRange* seen, const KeyRange& all, float* panels, float* to,
              int64_t lanes) const {
    PackRows<Float32Lane>(rows, dim, dim, first_row, first_row, first_row + kPanelRows, kPanelRows,
                          panels);
    for (int64_t key = all.begin / kTileRows * kTileRows; key < all.end; key += kTileRows) {
      // Rows that see none of these keys have zeros: those before and behind are left out.
      int first = 0, last = kTiles;
      const auto sees = [&](int i) { return seen[i].begin < key + kTileRows && seen[i].end > key; };
      while (first < last && !sees(first)) ++first;
      while (first < last && !sees(last - 1)) --last;
      const int64_t skipped = first * kTileRows;
      for (int64_t column = 0; column < dim; column += kTileWidth) {
        MultiplyTile<FromMemory, kTileRows, Float32Lane, ByColumns>(
            numbers + skipped * kTileKeys + key, kTileKeys,
            panels + column * kPanelRows + skipped * kTileWidth, kTileWidth,
            (last - first) * kTileRows, to + key * lanes + column, lanes);
      }
    }
  }

  const AttentionGradientBlock& block_;
  const AttentionBlock& attention_;
  const Scratch at_;
  float* const memory_;
};

void AttendBackward(const AttentionGradientBlock& block, float* memory) {
  Backward(block, memory).Run();
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(MultiplyRows);
HWY_EXPORT(LoadOutGradients);
HWY_EXPORT(AttendBackward);

int64_t attention_gradient_tokens(int64_t group) {
  // Rows, gradients and a tile of keys of 128 + 128 lanes are 1.2 MiB.
  return std::max<int64_t>(1, 384 / group);
}

int64_t attention_gradient_scratch_size(const AttentionGradientBlock& block) {
  return Scratch(block).size + 16;
}

void load_out_gradients(const AttentionGradientBlock& block, float* scratch) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(LoadOutGradients)(block, attention_query_rows(scratch));
}

const float* attention_out_gradient_rows(const AttentionGradientBlock& block, float* scratch) {
  return attention_query_rows(scratch) + Scratch(block).out_gradients;
}

void attend_backward(const AttentionGradientBlock& block, float* scratch) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(AttendBackward)(block, attention_query_rows(scratch));
}

void multiply_rows(const RowProducts& products) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(MultiplyRows)(products);
}

}  // namespace hodometer
#endif  // HWY_ONCE
