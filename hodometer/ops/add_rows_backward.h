#pragma once

#include <cstdint>

#include "hodometer/ops/add_rows.h"

namespace hodometer {

/// The gradient of a LearnedTable, of the same shape. It is written, not added to what is there.
struct LearnedTableGradient {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t dim = 0;
  int64_t row_stride = 0;

  static constexpr LearnedTableGradient contiguous(float* data, int64_t rows, int64_t dim) {
    return {data, rows, dim, dim};
  }
};

/// The gradient of the table of add_rows(): to every row the sum of the gradients of the embeddings
/// that it was added to, 0 where there is none, and 0 for the padding row. The gradient of the
/// embeddings before is `gradient` itself.
///
/// Sums are float32, of the tokens in their order, so that the bits do not depend on the executor.
/// Never allocates unless it fails.
///
/// Errors: as add_rows(); a plan that learns no rows.
Status add_rows_backward(const Plan& plan, const EmbeddingsView& gradient,
                         const PositionView& positions, const LearnedTableGradient& table,
                         Executor& executor = serial_executor());

}  // namespace hodometer
