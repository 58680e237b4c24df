#include "hodometer/kernels/attention_forward.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/attention_forward.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/attention_tiles-inl.h"

#ifndef HODOMETER_KERNELS_ATTENTION_FORWARD_ONCE_
#define HODOMETER_KERNELS_ATTENTION_FORWARD_ONCE_
namespace hodometer {
namespace {

// Keys whose columns, values and scores are worked on together.
constexpr int64_t kTileKeys = 256;
// Rows that meet a panel of keys or values while it is in L1; a multiple of every kTileRows.
constexpr int64_t kTogether = 12;

// What lies in the scratch memory, as offsets from its first cache line. For every target: panels
// of at most 32 lanes, vectors of at most 16.
struct Scratch {
  explicit Scratch(const AttentionBlock& block) {
    rows = block.tokens * block.group;
    padded_rows = (rows + kTogether - 1) / kTogether * kTogether;
    out_stride = (block.value_dim + 31) / 32 * 32;
    queries = Take(padded_rows * block.head_dim);
    outputs = Take(padded_rows * out_stride);
    maxima = Take(padded_rows);
    sums = Take(padded_rows * 16);
    keys = Take(kTileKeys * block.head_dim);
    values = Take(kTileKeys * out_stride);
    scores = Take(kTogether * kTileKeys);
    bias = Take(block.bias.fill == nullptr ? 0 : kTogether * kTileKeys);
  }
  int64_t Take(int64_t floats) {
    const int64_t at = size;
    size += (floats + 15) / 16 * 16;
    return at;
  }
  int64_t size = 0;
  int64_t rows, padded_rows, out_stride;
  int64_t queries, outputs, maxima, sums, keys, values, scores, bias;
};

float* first_cache_line(float* scratch) {
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  return scratch + (64 - address % 64) % 64 / sizeof(float);
}

}  // namespace
}  // namespace hodometer
#endif

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

// Below every score; unlike -inf it has differences.
constexpr float kNothingSeen = std::numeric_limits<float>::lowest();

// How far ahead rows of tokens are asked for.
constexpr int64_t kTokensAhead = 2;

// Asks for a row of so many elements before it is needed.
template <class T>
HWY_INLINE void PrefetchRow(const T* row, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(row + i, 0, 2);
}

void LoadQueries(const AttentionBlock& block, float* scratch) {
  float* dst = first_cache_line(scratch);
  WithLane(block.query.dtype, [&](auto lane) {
    using Lane = decltype(lane);
    const auto* src = static_cast<const typename Lane::Memory*>(block.query.data);
    for (int64_t token = 0; token < block.tokens; ++token) {
      for (int64_t head = 0; head < block.group; ++head, dst += block.head_dim) {
        const auto* row = src + token * block.query.token_stride + head * block.query.head_stride;
        PrefetchRow(row + kTokensAhead * block.query.token_stride, block.head_dim);
        const float scale =
            block.scale[token * block.scale_token_stride + head * block.scale_head_stride] * kLog2E;
        ForLanes(block.head_dim, [&](auto d, int64_t i) {
          hn::StoreU(hn::Mul(LoadLanes(d, Lane(), row + i), hn::Set(d, scale)), d, dst + i);
        });
      }
    }
  });
}

// The work on one block.
class Forward {
 public:
  Forward(const AttentionBlock& block, float* scratch)
      : block_(block), at_(block), memory_(first_cache_line(scratch)) {}

  void Run() {
    Start();
    int64_t begin = std::numeric_limits<int64_t>::max();
    for (int64_t i = 0; i < block_.tokens; ++i) {
      const KeyRange& range = block_.ranges[i];
      if (range.begin >= range.end) continue;
      begin = std::min(begin, range.begin);
      end_ = std::max(end_, range.end);
    }
    // Tiles lie at multiples of their size, so that a row is summed in the same order in any block.
    for (int64_t tile = begin / kTileKeys * kTileKeys; tile < end_; tile += kTileKeys) {
      const KeyRange keys = Seen(0, block_.tokens, tile);
      if (keys.begin < keys.end) Tile(tile, keys);
    }
    Finish();
  }

 private:
  void Start() {
    float* queries = memory_ + at_.queries;
    std::fill(queries + at_.rows * block_.head_dim, queries + at_.padded_rows * block_.head_dim,
              0.0f);
    std::fill_n(memory_ + at_.outputs, at_.padded_rows * at_.out_stride, 0.0f);
    std::fill_n(memory_ + at_.maxima, at_.padded_rows, kNothingSeen);
    std::fill_n(memory_ + at_.sums, at_.padded_rows * 16, 0.0f);
    if (block_.sinks == nullptr) return;
    for (int64_t row = 0; row < at_.rows; ++row) {
      const float sink = block_.sinks[row % block_.group];
      if (sink == kHidden) continue;
      memory_[at_.maxima + row] = sink * kLog2E;
      memory_[at_.sums + row * 16] = 1;
    }
  }

  // What tokens [first, last) see of a tile's keys.
  KeyRange Seen(int64_t first, int64_t last, int64_t tile) const {
    KeyRange seen{tile + kTileKeys, tile};
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = std::max(block_.ranges[i].begin, tile);
      const int64_t end = std::min(block_.ranges[i].end, tile + kTileKeys);
      if (begin >= end) continue;
      seen = {std::min(seen.begin, begin), std::max(seen.end, end)};
    }
    return seen;
  }

  void Tile(int64_t tile, const KeyRange& keys) {
    WithLane(block_.key.dtype, [&](auto lane) {
      using Lane = decltype(lane);
      PackColumns<Lane>(static_cast<const typename Lane::Memory*>(block_.key.data),
                        block_.key.stride, block_.head_dim, tile, keys.begin, keys.end,
                        memory_ + at_.keys);
    });
    WithLane(block_.value.dtype, [&](auto lane) {
      using Lane = decltype(lane);
      PackRows<Lane>(static_cast<const typename Lane::Memory*>(block_.value.data),
                     block_.value.stride, block_.value_dim, tile, keys.begin, keys.end, kTileKeys,
                     memory_ + at_.values);
    });
    const int64_t share = (kTileKeys * kTogether + at_.rows - 1) / at_.rows;
    int64_t next = tile + kTileKeys;
    for (int64_t row = 0; row < at_.rows; row += kTogether, next += share) {
      Prefetch(next, std::min(next + share, end_));
      Rows(tile, row);
    }
  }

  void Prefetch(int64_t begin, int64_t end) const {
    const auto rows = [&](const KeyRows& keys, int64_t dim) {
      WithLane(keys.dtype, [&](auto lane) {
        const auto* data = static_cast<const typename decltype(lane)::Memory*>(keys.data);
        for (int64_t n = begin; n < end; ++n) PrefetchRow(data + n * keys.stride, dim);
      });
    };
    rows(block_.key, block_.head_dim);
    rows(block_.value, block_.value_dim);
  }

  // A tile of keys and rows [first_row, first_row + kTogether).
  void Rows(int64_t tile, int64_t first_row) {
    constexpr int kTiles = kTogether / kTileRows;
    KeyRange seen[kTiles];  // from the tile's first key on
    KeyRange all{kTileKeys, 0};
    for (int i = 0; i < kTiles; ++i) {
      const int64_t row = first_row + i * kTileRows;
      const int64_t last = std::min(row + kTileRows, at_.rows) - 1;
      seen[i] = row < at_.rows ? Seen(row / block_.group, last / block_.group + 1, tile)
                               : KeyRange{tile, tile};
      seen[i] = {seen[i].begin - tile, seen[i].end - tile};
      all = {std::min(all.begin, seen[i].begin), std::max(all.end, seen[i].end)};
    }
    const float* queries = memory_ + at_.queries + first_row * block_.head_dim;
    float* scores = memory_ + at_.scores;
    for (int64_t n = all.begin / kTileWidth * kTileWidth; n < all.end; n += kTileWidth) {
      const float* panel = memory_ + at_.keys + n * block_.head_dim;
      for (int i = 0; i < kTiles; ++i) {
        if (seen[i].begin >= n + kTileWidth || seen[i].end <= n) continue;
        MultiplyTile<FromZero, kTileRows>(queries + i * kTileRows * block_.head_dim,
                                          block_.head_dim, panel, kTileWidth, block_.head_dim,
                                          scores + i * kTileRows * kTileKeys + n, kTileKeys);
      }
    }
    for (int i = 0; i < kTiles; ++i) {
      if (seen[i].begin < seen[i].end) {
        Softmax(tile, first_row + i * kTileRows, seen[i], scores + i * kTileRows * kTileKeys);
      }
    }
    float* outputs = memory_ + at_.outputs + first_row * at_.out_stride;
    for (int64_t column = 0; column < block_.value_dim; column += kTileWidth) {
      const float* panel = memory_ + at_.values + column * kTileKeys;
      for (int i = 0; i < kTiles; ++i) {
        if (seen[i].begin >= seen[i].end) continue;
        MultiplyTile<FromMemory, kTileRows>(
            scores + i * kTileRows * kTileKeys + seen[i].begin, kTileKeys,
            panel + seen[i].begin * kTileWidth, kTileWidth, seen[i].end - seen[i].begin,
            outputs + i * kTileRows * at_.out_stride + column, at_.out_stride);
      }
    }
  }

  void Softmax(int64_t tile, int64_t first_row, const KeyRange& seen, float* scores) {
    const int64_t rows = std::min<int64_t>(kTileRows, at_.rows - first_row);
    const int64_t begin = seen.begin / kLanes * kLanes;
    const int64_t end = (seen.end + kLanes - 1) / kLanes * kLanes;
    float* maxima = memory_ + at_.maxima + first_row;
    float* sums = memory_ + at_.sums + first_row * 16;
    if (block_.bias.data == nullptr && block_.bias.fill != nullptr) {
      block_.bias.fill(block_.bias.context,
                       {first_row, rows, tile + seen.begin, seen.end - seen.begin,
                        bias_tile() + seen.begin, kTileKeys});
    }
    for (int64_t i = 0; i < rows; ++i) {
      const KeyRange& range = block_.ranges[(first_row + i) / block_.group];
      float* row = scores + i * kTileKeys;
      const int64_t row_begin = std::clamp(range.begin - tile, begin, end);
      const int64_t row_end = std::clamp(range.end - tile, row_begin, end);
      if (block_.soft_cap > 0) CapScores(row, begin, end, block_.soft_cap);
      if (const float* bias = Bias(tile, first_row, i)) {
        AddBias(row + row_begin, bias + row_begin, row_end - row_begin);
      }
      for (int64_t n = begin; n < row_begin; ++n) row[n] = kHidden;
      for (int64_t n = row_end; n < end; ++n) row[n] = kHidden;
      const float largest = LargestScore(row, begin, end, maxima[i]);
      if (largest == maxima[i]) continue;
      const hn::CappedTag<float, 1> d1;
      const float factor = hn::GetLane(Exp2(d1, hn::Set(d1, maxima[i] - largest)));
      ScaleRow(memory_ + at_.outputs + (first_row + i) * at_.out_stride, at_.out_stride, factor);
      ScaleRow(sums + i * 16, 16, factor);
      maxima[i] = largest;
    }
    for (int64_t i = 0; i < rows; ++i) {
      Exponentiate(scores + i * kTileKeys, begin, end, maxima[i], sums + i * 16);
    }
  }

  float* bias_tile() const { return memory_ + at_.bias; }

  // The bias of the tile's first key and row first_row + i, or null.
  const float* Bias(int64_t tile, int64_t first_row, int64_t i) const {
    const ScoreBias& bias = block_.bias;
    if (bias.data == nullptr) return bias.fill == nullptr ? nullptr : bias_tile() + i * kTileKeys;
    const int64_t token = (first_row + i) / block_.group, head = (first_row + i) % block_.group;
    return bias.data + (head * bias.head_stride + token * bias.token_stride + tile);
  }

  void Finish() const {
    WithLane(block_.out.dtype, [&](auto lane) {
      using Lane = decltype(lane);
      auto* dst = static_cast<typename Lane::Memory*>(block_.out.data);
      for (int64_t row = 0; row < at_.rows; ++row) {
        const int64_t token = row / block_.group, head = row % block_.group;
        const FullTag d_full;
        const float sum =
            hn::GetLane(hn::SumOfLanes(d_full, hn::LoadU(d_full, memory_ + at_.sums + row * 16)));
        const float* from = memory_ + at_.outputs + row * at_.out_stride;
        auto* to = dst + token * block_.out.token_stride + head * block_.out.head_stride;
        const float factor = sum == 0 ? 0 : 1 / sum;
        PrefetchRow(to + kTokensAhead * block_.out.token_stride, block_.value_dim);
        ForLanes(block_.value_dim, [&](auto d, int64_t i) {
          StoreLanes(d, Lane(), hn::Mul(hn::LoadU(d, from + i), hn::Set(d, factor)), to + i);
        });
        if (block_.log_sum == nullptr) continue;
        const double log2_sum =
            std::log2(static_cast<double>(sum)) + static_cast<double>(memory_[at_.maxima + row]);
        block_.log_sum[token * block_.log_sum_token_stride + head * block_.log_sum_head_stride] =
            sum == 0 ? kHidden : static_cast<float>(log2_sum * 0.69314718055994531);
      }
    });
  }

  const AttentionBlock& block_;
  const Scratch at_;
  float* const memory_;
  int64_t end_ = 0;  // of the keys that some token sees
};

void Attend(const AttentionBlock& block, float* scratch) { Forward(block, scratch).Run(); }

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(LoadQueries);
HWY_EXPORT(Attend);

int64_t attention_block_tokens(int64_t group, int64_t head_dim, int64_t value_dim) {
  // 384 rows of 128 + 128 lanes and their tile of keys are 640 KiB.
  const int64_t rows = std::clamp<int64_t>(384 * 256 / (head_dim + value_dim), 96, 768);
  return std::max<int64_t>(1, rows / group);
}

int64_t attention_scratch_size(const AttentionBlock& block) { return Scratch(block).size + 16; }

float* attention_query_rows(float* scratch) { return first_cache_line(scratch); }

void load_queries(const AttentionBlock& block, float* scratch) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(LoadQueries)(block, scratch);
}

void attend(const AttentionBlock& block, float* scratch) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(Attend)(block, scratch);
}

}  // namespace hodometer
#endif  // HWY_ONCE
