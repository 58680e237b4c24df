#pragma once

#include <cstdint>
#include <span>

#include "hodometer/base/pair_layout.h"
#include "hodometer/base/tensor_view.h"
#include "hodometer/kernels/angle_rows.h"

namespace hodometer {

/// The heads of a run of tokens. Strides are in elements and may have any sign; lane 0 of head h of
/// token i is at i * token_stride + h * head_stride. No alignment is needed.
struct HeadBlock {
  DType dtype;
  int64_t heads;
  int64_t head_dim;
  const void* src;
  int64_t src_token_stride;
  int64_t src_head_stride;
  /// Equal to src, with equal strides, for a rotation in place; else it must not overlap src.
  void* dst;
  int64_t dst_token_stride;
  int64_t dst_head_stride;
};

/// Which lanes of a head turn together: pair j is made of lanes
///   half_split:  first_lane + j  and  first_lane + j + pair_distance
///   interleaved: first_lane + 2j and  first_lane + 2j + 1
struct PairLanes {
  PairLayout layout = PairLayout::half_split;
  int64_t first_lane = 0;
  /// half_split only, at least the number of pairs: rotary_dim / 2, or head_dim / 2 where only the
  /// first pairs of a half turn.
  int64_t pair_distance = 0;
};

/// (x, y) -> (x cos - y sin, y cos + x sin) for every pair of every head of rows.tokens tokens of
/// every block; blocks share each token's row. Lanes outside the pairs are copied when src and dst
/// differ, and left alone when they do not; without a pair that is all.
///
/// Computed in float32: each output is within 1.5 ulp(float32) of magnitude * (|x| + |y|), plus the
/// rows' own error times (|x| + |y|), and is then rounded once to nearest even. NaN stays NaN,
/// subnormals are kept. The same bits for any split of the tokens into calls. Never allocates.
void rotate_pairs(const AngleRows& rows, Direction direction, const PairLanes& lanes,
                  std::span<const HeadBlock> blocks);

/// The same for one block.
inline void rotate_pairs(const AngleRows& rows, Direction direction, const PairLanes& lanes,
                         const HeadBlock& block) {
  rotate_pairs(rows, direction, lanes, std::span<const HeadBlock>(&block, 1));
}

}  // namespace hodometer
