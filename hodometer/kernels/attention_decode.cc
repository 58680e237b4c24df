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

// Keys whose scores are worked on together.
constexpr int64_t kChunkKeys = 32;
// Keys whose rows are read together, of all heads in turn: where heads of a token lie side by side,
// so many streams of memory are then read in their order, which is what the machine reads ahead.
constexpr int64_t kPartKeys = 8;
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
  Decode(const AttentionBlock& block, const Scratch& at, float* scratch)
      : block_(block),
        at_(at),
        memory_(attention_query_rows(scratch)),
        running_{memory_ + at_.maxima, memory_ + at_.sums, memory_ + at_.outputs, at_.out_stride} {}

  void Start() { running_.Start(at_.rows); }

  // The products of keys `part` of the chunk that begins at `first`.
  void Scores(int64_t first, const KeyRange& part) const {
    float* scores = memory_ + at_.scores + (part.begin - first);
    WithRows(block_.key, block_.head_dim, part, memory_ + at_.loaded,
             [&](auto lane, const auto* data, int64_t stride) {
               ForRows(at_.rows, [&](auto rows, int64_t row) {
                 RowScores<rows(), decltype(lane)>(data, stride, part, row,
                                                   scores + row * kScoreStride);
               });
             });
  }

  // From the scores of a chunk to weights.
  void Softmax(const KeyRange& chunk) const {
    UpdateSoftmax(block_, running_,
                  {0,
                   at_.rows,
                   chunk.begin,
                   {0, chunk.end - chunk.begin},
                   memory_ + at_.scores,
                   kScoreStride,
                   memory_ + at_.bias});
  }

  // The values of keys `part` of the chunk that begins at `first`, times their weights. By panels
  // of lanes, so that each row of outputs is in registers for all keys.
  void Values(int64_t first, const KeyRange& part) const {
    const float* weights = memory_ + at_.scores + (part.begin - first);
    const int64_t dim = block_.value_dim;
    WithRows(block_.value, dim, part, memory_ + at_.loaded,
             [&](auto lane, const auto* data, int64_t stride) {
               ForRows(at_.rows, [&](auto rows, int64_t row) {
                 AddValues<rows(), decltype(lane)>(
                     weights + row * kScoreStride, kScoreStride, data + part.begin * stride, stride,
                     part.end - part.begin, 0, dim, running_.outputs + row * at_.out_stride,
                     at_.out_stride);
               });
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
  // A few scores beyond the last are written, too: of the last key again.
  template <int kRows, class Lane>
  HWY_INLINE void RowScores(const typename Lane::Memory* data, int64_t stride, const KeyRange& keys,
                            int64_t row, float* scores) const {
    constexpr int64_t kKeys = kSums / kRows;
    const float* queries = memory_ + at_.queries + row * block_.head_dim;
    for (int64_t n = keys.begin; n < keys.end; n += kKeys) {
      const typename Lane::Memory* rows[kKeys];
      for (int64_t i = 0; i < kKeys; ++i) rows[i] = data + std::min(n + i, keys.end - 1) * stride;
      DotKeys<kRows, Lane>(queries, block_.head_dim, rows, scores + (n - keys.begin), kScoreStride);
    }
  }

  const AttentionBlock& block_;
  const Scratch& at_;
  float* const memory_;
  RunningRows running_;
};

// The work on all blocks, whose heads lie side by side in memory.
class DecodeTogether {
 public:
  DecodeTogether(std::span<const AttentionBlock> blocks, const KeyRange& keys, float* scratch,
                 float* partials)
      : blocks_(blocks),
        at_(blocks.front()),
        count_(static_cast<int64_t>(blocks.size())),
        keys_(keys),
        part_keys_(loaded_lanes(blocks.front()) > 0 ? kChunkKeys : kPartKeys),
        scratch_(scratch),
        partials_(partials) {}

  void Run() {
    ForBlocks([](Decode& decode, int64_t) { decode.Start(); });
    for (int64_t n = keys_.begin; n < keys_.end; n += kChunkKeys) {
      // All blocks are of the same tokens.
      const KeyRange chunk = SeenKeys(blocks_.front(), {n, std::min(n + kChunkKeys, keys_.end)});
      if (chunk.begin < chunk.end) Chunk(chunk);
    }
    const int64_t partial_size = attention_partial_size(blocks_.front());
    ForBlocks([&](Decode& decode, int64_t i) {
      decode.Write(Partial(blocks_.front(), partials_ + i * partial_size));
    });
  }

 private:
  // body(decode, index) for every block.
  template <class Body>
  HWY_INLINE void ForBlocks(const Body& body) const {
    const int64_t scratch_size = attend_keys_scratch_size(blocks_.front());
    for (int64_t i = 0; i < count_; ++i) {
      Decode decode(blocks_[static_cast<size_t>(i)], at_, scratch_ + i * scratch_size);
      body(decode, i);
    }
  }

  // body(part) for the parts of a chunk that are read together.
  template <class Body>
  HWY_INLINE void ForParts(const KeyRange& chunk, const Body& body) const {
    for (int64_t n = chunk.begin; n < chunk.end; n += part_keys_) {
      body(KeyRange{n, std::min(n + part_keys_, chunk.end)});
    }
  }

  // While a part is worked on, the next one is on its way. Farther ahead was slower.
  void Chunk(const KeyRange& chunk) const {
    ForParts(chunk, [&](const KeyRange& part) {
      ForBlocks([&](Decode& decode, int64_t i) {
        if (part.end < chunk.end) {
          PrefetchKeys(part.end, i);
        } else {
          PrefetchValues(chunk.begin, i);
        }
        decode.Scores(chunk.begin, part);
      });
    });
    ForBlocks([&](Decode& decode, int64_t) { decode.Softmax(chunk); });
    ForParts(chunk, [&](const KeyRange& part) {
      ForBlocks([&](Decode& decode, int64_t i) {
        if (part.end < chunk.end) {
          PrefetchValues(part.end, i);
        } else {
          PrefetchKeys(chunk.end, i);
        }
        decode.Values(chunk.begin, part);
      });
    });
  }

  HWY_INLINE void PrefetchKeys(int64_t begin, int64_t block) const {
    Prefetch(&AttentionBlock::key, blocks_.front().head_dim, begin, block);
  }
  HWY_INLINE void PrefetchValues(int64_t begin, int64_t block) const {
    Prefetch(&AttentionBlock::value, blocks_.front().value_dim, begin, block);
  }
  // The share of one block in asking for the part that begins there, of all heads: in the order in
  // which rows lie in memory.
  HWY_INLINE void Prefetch(KeyRows AttentionBlock::*rows, int64_t dim, int64_t begin,
                           int64_t block) const {
    const int64_t end = std::min(begin + (block + 1) * part_keys_ / count_, keys_.end);
    for (int64_t n = begin + block * part_keys_ / count_; n < end; ++n) {
      for (const AttentionBlock& each : blocks_) PrefetchRows(each.*rows, dim, n, n + 1);
    }
  }

  const std::span<const AttentionBlock> blocks_;
  const Scratch at_;
  const int64_t count_;
  const KeyRange keys_;
  const int64_t part_keys_;
  float* const scratch_;
  float* const partials_;
};

void AttendKeys(std::span<const AttentionBlock> blocks, const KeyRange& keys, float* scratch,
                float* partials) {
  DecodeTogether(blocks, keys, scratch, partials).Run();
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
