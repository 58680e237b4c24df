#include "hodometer/kernels/make_table.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/make_table.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/angle_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

void MakeTable(const AngleRows& rows, float* cos, float* sin, int64_t row_stride) {
  for (int64_t begin = 0; begin < rows.pairs; begin += internal::kRowPairs) {
    const int64_t count = std::min(internal::kRowPairs, rows.pairs - begin);
    RowMaker row(rows, Direction::forward, begin, count);
    for (int64_t i = 0; i < rows.tokens; ++i) {
      row.MakeInto(i, cos + i * row_stride + begin, sin + i * row_stride + begin);
    }
  }
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(MakeTable);

void make_table(const AngleRows& rows, float* cos, float* sin, int64_t row_stride) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(MakeTable)(rows, cos, sin, row_stride);
}

}  // namespace hodometer
#endif  // HWY_ONCE
