#include "hodometer/kernels/add_rows.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/add_rows.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/angle_rows-inl.h"
#include "hodometer/kernels/dtype_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

// dst = src + row for `count` lanes.
template <class Lane>
HWY_INLINE void AddRow(const typename Lane::Memory* src, const float* row,
                       typename Lane::Memory* dst, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) {
    StoreLanes(d, Lane(), hn::Add(LoadLanes(d, Lane(), src + i), hn::LoadU(d, row + i)), dst + i);
  });
}

template <class Lane>
void AddTableBlock(const TableRows& rows, const TokenBlock& block) {
  using T = typename Lane::Memory;
  for (int64_t i = 0; i < block.tokens; ++i) {
    const int64_t id = rows.ids == nullptr ? i : rows.ids[i];
    AddRow<Lane>(static_cast<const T*>(block.src) + i * block.src_token_stride,
                 rows.data + id * rows.row_stride,
                 static_cast<T*>(block.dst) + i * block.dst_token_stride, block.dim);
  }
}

template <class Lane>
void AddSinusoidBlock(const AngleRows& rows, const SinusoidColumns& lanes,
                      const TokenBlock& block) {
  using T = typename Lane::Memory;
  // Lanes without a pair are copied: one row of them after the other, before anything is added.
  if (block.src != block.dst && 2 * rows.pairs < block.dim) {
    for (int64_t i = 0; i < block.tokens; ++i) {
      std::memcpy(static_cast<T*>(block.dst) + i * block.dst_token_stride,
                  static_cast<const T*>(block.src) + i * block.src_token_stride,
                  static_cast<size_t>(block.dim) * sizeof(T));
    }
  }
  const bool interleaved = lanes.lane_stride == 2;
  const int64_t first = std::min(lanes.sin_first, lanes.cos_first);
  for (int64_t begin = 0; begin < rows.pairs; begin += internal::kRowPairs) {
    const int64_t count = std::min(internal::kRowPairs, rows.pairs - begin);
    RowMaker row(rows, Direction::forward, begin, count);
    for (int64_t i = 0; i < block.tokens; ++i) {
      row.Make(i);
      const T* src = static_cast<const T*>(block.src) + i * block.src_token_stride;
      T* dst = static_cast<T*>(block.dst) + i * block.dst_token_stride;
      if (interleaved) {
        float both[2 * internal::kRowPairs];
        for (int64_t j = 0; j < count; ++j) {
          both[2 * j + lanes.sin_first - first] = row.sin()[j];
          both[2 * j + lanes.cos_first - first] = row.cos()[j];
        }
        const int64_t lane = first + 2 * begin;
        AddRow<Lane>(src + lane, both, dst + lane, 2 * count);
      } else {
        const int64_t sin_lane = lanes.sin_first + begin, cos_lane = lanes.cos_first + begin;
        AddRow<Lane>(src + sin_lane, row.sin(), dst + sin_lane, count);
        AddRow<Lane>(src + cos_lane, row.cos(), dst + cos_lane, count);
      }
    }
  }
}

void AddTableRows(const TableRows& rows, const TokenBlock& block) {
  WithLane(block.dtype, [&](auto lane) { AddTableBlock<decltype(lane)>(rows, block); });
}

void AddSinusoidRows(const AngleRows& rows, const SinusoidColumns& lanes, const TokenBlock& block) {
  WithLane(block.dtype, [&](auto lane) { AddSinusoidBlock<decltype(lane)>(rows, lanes, block); });
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(AddTableRows);
HWY_EXPORT(AddSinusoidRows);

void add_table_rows(const TableRows& rows, const TokenBlock& block) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(AddTableRows)(rows, block);
}

void add_sinusoid_rows(const AngleRows& rows, const SinusoidColumns& lanes,
                       const TokenBlock& block) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(AddSinusoidRows)(rows, lanes, block);
}

}  // namespace hodometer
#endif  // HWY_ONCE
