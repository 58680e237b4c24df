#include "hodometer/kernels/rotate_pairs.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/rotate_pairs.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/angle_rows-inl.h"
#include "hodometer/kernels/rotate_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

// Copies every lane of the heads of a token.
template <class T>
void CopyHeads(const HeadBlock& block, const T* src, T* dst) {
  for (int64_t head = 0; head < block.heads; ++head) {
    std::memcpy(dst + head * block.dst_head_stride, src + head * block.src_head_stride,
                static_cast<size_t>(block.head_dim) * sizeof(T));
  }
}

// Pairs [begin, begin + count) of so many.
struct PairRange {
  int64_t begin, count, pairs;
};

// Turns the heads of token i by its row of cosines and sines.
template <class Lane>
HWY_INLINE void RotateToken(const RowMaker& row, const PairRange& range, const PairLanes& lanes,
                            const HeadBlock& block, int64_t i) {
  using T = typename Lane::Memory;
  const bool half_split = lanes.layout == PairLayout::half_split;
  const int64_t first_lane = lanes.first_lane + range.begin * (half_split ? 1 : 2);
  const T* src = static_cast<const T*>(block.src) + i * block.src_token_stride;
  T* dst = static_cast<T*>(block.dst) + i * block.dst_token_stride;
  if (range.begin == 0 && block.src != block.dst && 2 * range.pairs < block.head_dim) {
    CopyHeads(block, src, dst);
  }
  const TokenHeads<T> heads{src + first_lane,      dst + first_lane,    block.src_head_stride,
                            block.dst_head_stride, lanes.pair_distance, block.heads};
  if (half_split) {
    TurnHeads<HalfSplit<Lane>>(row.cos(), row.sin(), range.count, heads);
  } else {
    TurnHeads<Interleaved<Lane>>(row.cos(), row.sin(), range.count, heads);
  }
}

void RotatePairs(const AngleRows& rows, Direction direction, const PairLanes& lanes,
                 std::span<const HeadBlock> blocks) {
  int64_t begin = 0;
  do {  // once even without a pair, for what is to be copied
    const int64_t count = std::min(internal::kRowPairs, rows.pairs - begin);
    RowMaker row(rows, direction, begin, count);
    for (int64_t i = 0; i < rows.tokens; ++i) {
      row.Make(i);
      for (const HeadBlock& block : blocks) {
        WithLane(block.dtype, [&](auto lane) {
          RotateToken<decltype(lane)>(row, {begin, count, rows.pairs}, lanes, block, i);
        });
      }
    }
    begin += internal::kRowPairs;
  } while (begin < rows.pairs);
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(RotatePairs);

void rotate_pairs(const AngleRows& rows, Direction direction, const PairLanes& lanes,
                  std::span<const HeadBlock> blocks) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(RotatePairs)(rows, direction, lanes, blocks);
}

}  // namespace hodometer
#endif  // HWY_ONCE
