#include "hodometer/kernels/attention_decode.h"

#include <algorithm>
#include <span>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/attention_decode.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/attention_decode-inl.h"
#include "hodometer/kernels/attention_softmax-inl.h"
#include "hodometer/kernels/attention_tiles-inl.h"

#ifndef HODOMETER_KERNELS_ATTENTION_DECODE_ONCE_
#define HODOMETER_KERNELS_ATTENTION_DECODE_ONCE_
namespace hodometer {
namespace {

// Keys that are worked on together while the next so many are on their way. More would amortise
// better what is done once for all of them; fewer leave memory fewer pauses.
constexpr int64_t kChunkKeys = 32;
// Vectors and whole runs of keys may be written beyond the last score.
constexpr int64_t kScoreStride = kChunkKeys + 16;

// What lies in the scratch memory, as offsets from its first cache line; queries come first.
struct Scratch {
  explicit Scratch(const AttentionBlock& block) {
    rows = block.tokens * block.group;
    out_stride = output_stride(block);
    queries = Take(rows * block.head_dim);
    outputs = Take(rows * out_stride);
    maxima = Take(rows);
    sums = Take(rows * 16);
    scores = Take(rows * kScoreStride);
    loaded = Take(kChunkKeys * loaded_lanes(block));
    bias = Take(block.bias.fill == nullptr ? 0 : rows * kScoreStride);
  }
  int64_t Take(int64_t floats) {
    const int64_t at = size;
    size += (floats + 15) / 16 * 16;
    return at;
  }
  int64_t size = 0;
  int64_t rows, out_stride;
  int64_t queries, outputs, maxima, sums, scores, loaded, bias;
};

// A partial result: per row the largest score and the sum, then the rows of outputs.
struct Partial {
  Partial(const AttentionBlock& block, float* data)
      : maxima(data),
        sums(maxima + block.tokens * block.group),
        outputs(sums + block.tokens * block.group) {}
  float* maxima;
  float* sums;
  float* outputs;
};

}  // namespace
}  // namespace hodometer
#endif

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

// The keys that some token of the block sees, of `keys`.
KeyRange SeenKeys(const AttentionBlock& block, const KeyRange& keys) {
  KeyRange seen{keys.end, keys.begin};
  for (int64_t i = 0; i < block.tokens; ++i) {
    const int64_t begin = std::max(block.ranges[i].begin, keys.begin);
    const int64_t end = std::min(block.ranges[i].end, keys.end);
    if (begin >= end) continue;
    seen = {std::min(seen.begin, begin), std::max(seen.end, end)};
  }
  return seen;
}

// The work on some keys, for all rows of a block.
class Decode {
 public:
  Decode(const AttentionBlock& block, float* scratch)
      : block_(block),
        at_(block),
        memory_(attention_query_rows(scratch)),
        running_{memory_ + at_.maxima, memory_ + at_.sums, memory_ + at_.outputs, at_.out_stride} {}

  void Start() { running_.Start(at_.rows); }

  // keys, of which some are seen, while `next` are asked for.
  void Chunk(const KeyRange& keys, const KeyRange& next) {
    float* scores = memory_ + at_.scores;
    float* loaded = memory_ + at_.loaded;
    WithRows(block_.key, block_.head_dim, keys, loaded,
             [&](auto lane, const auto* data, int64_t stride) {
               Scores<decltype(lane)>(data, stride, keys, next, scores);
             });
    UpdateSoftmax(block_, running_,
                  {0,
                   at_.rows,
                   keys.begin,
                   {0, keys.end - keys.begin},
                   scores,
                   kScoreStride,
                   memory_ + at_.bias});
    WithRows(block_.value, block_.value_dim, keys, loaded,
             [&](auto lane, const auto* data, int64_t stride) {
               Values<decltype(lane)>(data, stride, keys, next, scores);
             });
  }

  void Write(const Partial& partial) const {
    AddTableValues(block_, running_, at_.rows);
    for (int64_t row = 0; row < at_.rows; ++row) {
      partial.maxima[row] = running_.maxima[row];
      partial.sums[row] = running_.Sum(row);
      std::copy_n(running_.outputs + row * at_.out_stride, block_.value_dim,
                  partial.outputs + row * block_.value_dim);
    }
  }

 private:
  template <class Lane>
  void Scores(const typename Lane::Memory* data, int64_t stride, const KeyRange& keys,
              const KeyRange& next, float* scores) const {
    ForRows(at_.rows, [&](auto rows, int64_t row) {
      RowScores<rows(), Lane>(data, stride, keys, next, row, scores + row * kScoreStride);
    });
  }

  // A few scores beyond the last are written, too: of the last key again.
  template <int kRows, class Lane>
  HWY_INLINE void RowScores(const typename Lane::Memory* data, int64_t stride, const KeyRange& keys,
                            const KeyRange& next, int64_t row, float* scores) const {
    constexpr int64_t kKeys = kSums / kRows;
    const float* queries = memory_ + at_.queries + row * block_.head_dim;
    int64_t ahead = row == 0 ? next.begin : next.end;
    for (int64_t n = keys.begin; n < keys.end; n += kKeys, ahead += kKeys) {
      const typename Lane::Memory* rows[kKeys];
      for (int64_t i = 0; i < kKeys; ++i) {
        rows[i] = data + std::min(n + i, keys.end - 1) * stride;
      }
      PrefetchRows(block_.key, block_.head_dim, ahead, std::min(ahead + kKeys, next.end));
      DotKeys<kRows, Lane>(queries, block_.head_dim, rows, scores + (n - keys.begin), kScoreStride);
    }
  }

  // By panels of lanes, so that each row of outputs is in registers for all keys.
  template <class Lane>
  void Values(const typename Lane::Memory* data, int64_t stride, const KeyRange& keys,
              KeyRange next, const float* weights) const {
    data += keys.begin * stride;
    const int64_t dim = block_.value_dim;
    const int64_t share = ((keys.end - keys.begin) * kTileWidth + dim - 1) / dim;
    for (int64_t lane = 0; lane < dim; lane += kTileWidth, next.begin += share) {
      PrefetchRows(block_.value, dim, next.begin, std::min(next.begin + share, next.end));
      ForRows(at_.rows, [&](auto rows, int64_t row) {
        AddValues<rows(), Lane>(weights + row * kScoreStride, kScoreStride, data, stride,
                                keys.end - keys.begin, lane, std::min(lane + kTileWidth, dim),
                                running_.outputs + row * at_.out_stride, at_.out_stride);
      });
    }
  }

  const AttentionBlock& block_;
  const Scratch at_;
  float* const memory_;
  RunningRows running_;
};

void AttendKeys(std::span<const AttentionBlock> blocks, const KeyRange& keys, float* scratch,
                float* partials) {
  const int64_t scratch_size = attend_keys_scratch_size(blocks.front());
  const int64_t partial_size = attention_partial_size(blocks.front());
  const auto for_blocks = [&](const auto& body) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      Decode decode(blocks[i], scratch + at * scratch_size);
      body(decode, at);
    }
  };
  for_blocks([&](Decode& decode, int64_t) { decode.Start(); });
  for (int64_t n = keys.begin; n < keys.end; n += kChunkKeys) {
    const KeyRange chunk{n, std::min(n + kChunkKeys, keys.end)};
    const KeyRange next{chunk.end, std::min(chunk.end + kChunkKeys, keys.end)};
    for_blocks([&](Decode& decode, int64_t i) {
      const AttentionBlock& block = blocks[static_cast<size_t>(i)];
      const KeyRange seen = SeenKeys(block, chunk);
      if (seen.begin < seen.end) decode.Chunk(seen, SeenKeys(block, next));
    });
  }
  for_blocks([&](Decode& decode, int64_t i) {
    decode.Write(Partial(blocks[static_cast<size_t>(i)], partials + i * partial_size));
  });
}

HWY_INLINE float Power(float x) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(Exp2(d, hn::Set(d, x)));
}

// Merges row `row` of the partial results into that of the first; returns its largest score.
float MergeRow(const AttentionBlock& block, float* partials, int64_t count, int64_t stride,
               int64_t row) {
  float sink = kHidden;
  if (block.sinks != nullptr) sink = block.sinks[row % block.group] * kLog2E;
  float largest = std::max(sink, kNothingSeen);
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, Partial(block, partials + i * stride).maxima[row]);
  }
  const Partial first(block, partials);
  float* outputs = first.outputs + row * block.value_dim;
  float sum = Power(sink - largest);
  for (int64_t i = 0; i < count; ++i) {
    const Partial part(block, partials + i * stride);
    const float factor = Power(part.maxima[row] - largest);
    sum += factor * part.sums[row];
    const float* from = part.outputs + row * block.value_dim;
    ForLanes(block.value_dim, [&](auto d, int64_t lane) {
      const auto before = i == 0 ? hn::Zero(d) : hn::LoadU(d, outputs + lane);
      hn::StoreU(hn::MulAdd(hn::Set(d, factor), hn::LoadU(d, from + lane), before), d,
                 outputs + lane);
    });
  }
  first.sums[row] = sum;
  return largest;
}

void MergePartials(const AttentionBlock& block, float* partials, int64_t count, int64_t stride) {
  const Partial first(block, partials);
  WithLane(block.out.dtype, [&](auto lane) {
    for (int64_t row = 0; row < block.tokens * block.group; ++row) {
      const float largest = MergeRow(block, partials, count, stride, row);
      WriteRow<decltype(lane)>(block, row, largest, first.sums[row],
                               first.outputs + row * block.value_dim);
    }
  });
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(AttendKeys);
HWY_EXPORT(MergePartials);

int64_t attend_keys_scratch_size(const AttentionBlock& block) { return Scratch(block).size + 16; }

int64_t attention_partial_size(const AttentionBlock& block) {
  return block.tokens * block.group * (2 + block.value_dim);
}

void attend_keys(std::span<const AttentionBlock> blocks, KeyRange keys, float* scratch,
                 float* partials) {
  internal::honour_target_request();
  if (!blocks.empty()) HWY_DYNAMIC_DISPATCH(AttendKeys)(blocks, keys, scratch, partials);
}

void merge_partials(const AttentionBlock& block, float* partials, int64_t count, int64_t stride) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(MergePartials)(block, partials, count, stride);
}

}  // namespace hodometer
#endif  // HWY_ONCE
