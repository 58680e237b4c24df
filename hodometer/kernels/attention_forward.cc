#include "hodometer/kernels/attention_forward.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/attention_forward.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/attention_softmax-inl.h"
#include "hodometer/kernels/attention_tiles-inl.h"

#ifndef HODOMETER_KERNELS_ATTENTION_FORWARD_ONCE_
#define HODOMETER_KERNELS_ATTENTION_FORWARD_ONCE_
namespace hodometer {
namespace {

// Keys whose columns, values and scores are worked on together; a multiple of every kTileWidth.
constexpr int64_t kTileKeys = 256;
// Rows that meet a panel of keys or values while it is in L1; a multiple of every kTileRows.
constexpr int64_t kTogether = 12;

// What lies in the scratch memory, as offsets from its first cache line. For every target: panels
// of at most 32 lanes, vectors of at most 16.
struct Scratch {
  explicit Scratch(const AttentionBlock& block) {
    rows = block.tokens * block.group;
    padded_rows = (rows + kTogether - 1) / kTogether * kTogether;
    out_stride = output_stride(block);
    queries = Take(padded_rows * block.head_dim);
    outputs = Take(padded_rows * out_stride);
    maxima = Take(padded_rows);
    sums = Take(padded_rows * 16);
    keys = Take(kTileKeys * block.head_dim);
    values = Take(kTileKeys * out_stride);
    scores = Take(kTogether * kTileKeys);
    loaded = Take(kTileKeys * loaded_lanes(block));
    bias = Take(block.bias.fill == nullptr ? 0 : kTogether * kTileKeys);
  }
  int64_t Take(int64_t floats) {
    const int64_t at = size;
    size += (floats + 15) / 16 * 16;
    return at;
  }
  int64_t size = 0;
  int64_t rows, padded_rows, out_stride;
  int64_t queries, outputs, maxima, sums, keys, values, scores, loaded, bias;
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
      : block_(block),
        at_(block),
        memory_(first_cache_line(scratch)),
        running_{memory_ + at_.maxima, memory_ + at_.sums, memory_ + at_.outputs, at_.out_stride} {}

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
    running_.Start(at_.padded_rows);
    if (block_.sinks == nullptr) return;
    for (int64_t row = 0; row < at_.rows; ++row) {
      const float sink = block_.sinks[row % block_.group];
      if (sink == kHidden) continue;
      running_.maxima[row] = sink * kLog2E;
      running_.sums[row * RunningRows::kSumStride] = 1;
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
    float* loaded = memory_ + at_.loaded;
    WithRows(block_.key, block_.head_dim, keys, loaded,
             [&](auto lane, const auto* data, int64_t stride) {
               PackColumns<decltype(lane)>(data, stride, block_.head_dim, tile, keys.begin,
                                           keys.end, memory_ + at_.keys);
             });
    WithRows(block_.value, block_.value_dim, keys, loaded,
             [&](auto lane, const auto* data, int64_t stride) {
               PackRows<decltype(lane)>(data, stride, block_.value_dim, tile, keys.begin, keys.end,
                                        kTileKeys, memory_ + at_.values);
             });
    // The rows share the work of asking for the next tile.
    const int64_t share = (kTileKeys * kTogether + at_.rows - 1) / at_.rows;
    KeyRange next{tile + kTileKeys, tile + kTileKeys};
    for (int64_t row = 0; row < at_.rows; row += kTogether) {
      next = {next.end, std::min(next.end + share, std::max(end_, next.end))};
      Rows(tile, row, next);
    }
  }

  // Asks for the first `count` of keys and values.
  HWY_INLINE void Prefetch(KeyRange& keys, int64_t count) const {
    const int64_t end = std::min(keys.begin + count, keys.end);
    PrefetchRows(block_.key, block_.head_dim, keys.begin, end);
    PrefetchRows(block_.value, block_.value_dim, keys.begin, end);
    keys.begin = end;
  }

  // A tile of keys and rows [first_row, first_row + kTogether); asks for keys `next`.
  void Rows(int64_t tile, int64_t first_row, KeyRange next) {
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
    // Little by little, for many at once would hold up the products.
    const int64_t at_once = 1 + (next.end - next.begin) * kTileWidth / kTileKeys;
    for (int64_t n = all.begin / kTileWidth * kTileWidth; n < all.end; n += kTileWidth) {
      const float* panel = memory_ + at_.keys + n * block_.head_dim;
      Prefetch(next, at_once);
      for (int i = 0; i < kTiles; ++i) {
        if (seen[i].begin >= n + kTileWidth || seen[i].end <= n) continue;
        MultiplyTile<FromZero, kTileRows>(queries + i * kTileRows * block_.head_dim,
                                          block_.head_dim, panel, kTileWidth, block_.head_dim,
                                          scores + i * kTileRows * kTileKeys + n, kTileKeys);
      }
    }
    for (int i = 0; i < kTiles; ++i) {
      if (seen[i].begin < seen[i].end) {
        const int64_t row = first_row + i * kTileRows;
        UpdateSoftmax(block_, running_,
                      {row, std::min<int64_t>(kTileRows, at_.rows - row), tile, seen[i],
                       scores + i * kTileRows * kTileKeys, kTileKeys, memory_ + at_.bias});
      }
    }
    float* outputs = running_.outputs + first_row * at_.out_stride;
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

  void Finish() const {
    AddTableValues(block_, running_, at_.rows);
    WithLane(block_.out.dtype, [&](auto lane) {
      for (int64_t row = 0; row < at_.rows; ++row) {
        WriteRow<decltype(lane)>(block_, row, running_.maxima[row], running_.Sum(row),
                                 running_.outputs + row * at_.out_stride);
      }
    });
  }

  const AttentionBlock& block_;
  const Scratch at_;
  float* const memory_;
  RunningRows running_;
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
  // 576 rows of 128 + 128 lanes and their tile of keys are 832 KiB.
  const int64_t rows = std::clamp<int64_t>(576 * 256 / (head_dim + value_dim), 144, 1152);
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
