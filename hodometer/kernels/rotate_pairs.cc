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

// Wide heads are turned in several passes; this many bytes of heads at a time stay in L1 for all.
inline constexpr int64_t kHeadBlockBytes = 8192;

// Pairs [begin, begin + count) of the heads of token i, by a row of cosines and sines.
template <class Lane>
HWY_INLINE void RotateToken(const RowMaker& row, int64_t begin, int64_t count, int64_t pairs,
                            const PairLanes& lanes, const HeadBlock& block, int64_t i) {
  using T = typename Lane::Memory;
  const bool copy_rest = begin == 0 && block.src != block.dst && 2 * pairs < block.head_dim;
  const int64_t heads_at_once = std::max<int64_t>(
      1, kHeadBlockBytes / (2 * std::max<int64_t>(pairs, 1) * static_cast<int64_t>(sizeof(T))));
  const bool half_split = lanes.layout == PairLayout::half_split;
  const int64_t first_lane = lanes.first_lane + begin * (half_split ? 1 : 2);
  const T* src = static_cast<const T*>(block.src) + i * block.src_token_stride;
  T* dst = static_cast<T*>(block.dst) + i * block.dst_token_stride;
  for (int64_t head = 0; head < block.heads; head += heads_at_once) {
    TokenHeads<T> token{src + head * block.src_head_stride + first_lane,
                        dst + head * block.dst_head_stride + first_lane,
                        std::min(heads_at_once, block.heads - head),
                        block.src_head_stride,
                        block.dst_head_stride,
                        lanes.pair_distance};
    if (copy_rest) {
      for (int64_t h = head; h < head + token.heads; ++h) {
        std::memcpy(dst + h * block.dst_head_stride, src + h * block.src_head_stride,
                    static_cast<size_t>(block.head_dim) * sizeof(T));
      }
    }
    if (half_split) {
      TurnHalfSplit<Lane>(row.cos(), row.sin(), count, token);
    } else {
      TurnInterleaved<Lane>(row.cos(), row.sin(), count, token);
    }
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
          RotateToken<decltype(lane)>(row, begin, count, rows.pairs, lanes, block, i);
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
