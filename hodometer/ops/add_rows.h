#pragma once

#include <cstdint>
#include <optional>

#include "hodometer/base/parallel.h"
#include "hodometer/base/result.h"
#include "hodometer/base/tensor_view.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/position_view.h"

namespace hodometer {

/// Embeddings of shape [batch, length, dim], the last dimension contiguous, strides in elements.
struct EmbeddingsView {
  void* data = nullptr;
  DType dtype = DType::float32;
  int64_t batch = 0;
  int64_t length = 0;
  int64_t dim = 0;
  int64_t batch_stride = 0;
  int64_t length_stride = 0;

  static constexpr EmbeddingsView contiguous(void* data, DType dtype, int64_t batch, int64_t length,
                                             int64_t dim) {
    return {data, dtype, batch, length, dim, length * dim, dim};
  }
};

/// A learned table of shape [rows, dim] in float32. Row position + offset belongs to a position.
struct LearnedTable {
  const float* data = nullptr;
  int64_t rows = 0;
  int64_t dim = 0;
  int64_t row_stride = 0;

  static constexpr LearnedTable contiguous(const float* data, int64_t rows, int64_t dim) {
    return {data, rows, dim, dim};
  }
};

/// Adds to every embedding the row of its token's position: computed (sinusoidal) or read from
/// `table` (learned). One float32 sum, rounded once on store. The padding row adds nothing. A plan
/// that adds no rows leaves everything alone.
///
/// Errors: as rotate(); a table missing, needless, or of another shape than the plan says; a
/// position without a row, with the limits in numbers; positions of a learned table that are not
/// whole numbers. On failure nothing has been written. Never allocates unless it fails.
Status add_rows(const Plan& plan, const EmbeddingsView& x, const PositionView& positions,
                const std::optional<LearnedTable>& table = std::nullopt,
                Executor& executor = serial_executor());

}  // namespace hodometer
