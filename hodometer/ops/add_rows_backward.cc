#include "hodometer/ops/add_rows_backward.h"

#include <fmt/format.h>

#include <algorithm>

#include "hodometer/kernels/convert.h"
#include "hodometer/ops/add_rows_checks-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

/// Lanes that a task sums for all tokens: a few cache lines of every row.
constexpr int64_t task_lanes = 64;

/// Lanes [lane, lane + lanes) of every row.
void sum_lanes(const AddRow& row, const EmbeddingsView& gradient, const PositionView& positions,
               const LearnedTableGradient& table, int64_t lane, int64_t lanes) {
  for (int64_t r = 0; r < table.rows; ++r) {
    std::fill_n(table.data + r * table.row_stride + lane, lanes, 0.0f);
  }
  const auto* data = static_cast<const char*>(gradient.data);
  for (int64_t b = 0; b < gradient.batch; ++b) {
    for (int64_t i = 0; i < gradient.length; ++i) {
      const auto r = static_cast<int64_t>(internal::position_at(positions, 0, b, i)) + row.offset;
      if (row.zero_row && r == *row.zero_row) continue;
      const int64_t element = b * gradient.batch_stride + i * gradient.length_stride + lane;
      float values[task_lanes];
      to_float32(gradient.dtype, data + element * dtype_size(gradient.dtype), values, lanes);
      float* sums = table.data + r * table.row_stride + lane;
      for (int64_t k = 0; k < lanes; ++k) sums[k] += values[k];
    }
  }
}

}  // namespace

Status add_rows_backward(const Plan& plan, const EmbeddingsView& gradient,
                         const PositionView& positions, const LearnedTableGradient& table,
                         Executor& executor) {
  if (!plan.row || plan.row->row.sinusoid) {
    return Error{ErrorKind::usage,
                 fmt::format("add_rows_backward: the method {} learns no rows: expected one that "
                             "does",
                             method_name(plan.spec))};
  }
  HODO_RETURN_IF_ERROR(
      internal::check_add_rows("add_rows_backward", plan, gradient, positions,
                               LearnedTable{table.data, table.rows, table.dim, table.row_stride}));
  const auto task = [&](int64_t index) {
    const int64_t lane = index * task_lanes;
    sum_lanes(plan.row->row, gradient, positions, table, lane,
              std::min(task_lanes, table.dim - lane));
  };
  executor.run((table.dim + task_lanes - 1) / task_lanes, task);
  return {};
}

}  // namespace hodometer
