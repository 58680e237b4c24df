#include "hodometer/kernels/table_scores.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/table_scores.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

void TableScores(const float* queries, int64_t rows, int64_t head_dim, const float* table,
                 int64_t num_rows, float* panel, float* scores, int64_t stride) {
  for (int64_t first = 0; first < num_rows; first += kTileWidth) {
    const int64_t end = std::min(first + kTileWidth, num_rows);
    PackColumns<Float32Lane>(table, head_dim, head_dim, first, first, end, panel);
    const auto multiply = [&](auto count, int64_t row) HWY_ATTR {
      MultiplyTile<FromZero, count()>(queries + row * head_dim, head_dim, panel, kTileWidth,
                                      head_dim, scores + row * stride + first, stride);
    };
    int64_t row = 0;
    for (; row + kTileRows <= rows; row += kTileRows) {
      multiply(std::integral_constant<int, kTileRows>(), row);
    }
    ForRows(rows - row, [&](auto count, int64_t i) { multiply(count, row + i); });
  }
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(TableScores);

void table_scores(const float* queries, int64_t rows, int64_t head_dim, const float* table,
                  int64_t num_rows, float* panel, float* scores, int64_t stride) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(TableScores)
  (queries, rows, head_dim, table, num_rows, panel, scores, stride);
}

}  // namespace hodometer
#endif  // HWY_ONCE
