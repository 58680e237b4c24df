#pragma once

#include <cstdint>

#include "hodometer/base/tensor_view.h"
#include "hodometer/kernels/angle_rows.h"

namespace hodometer {

/// Embeddings of a run of tokens: lane k of token i is at i * token_stride + k. Strides in
/// elements.
struct TokenBlock {
  DType dtype = DType::float32;
  int64_t tokens = 0;
  int64_t dim = 0;
  const void* src = nullptr;
  int64_t src_token_stride = 0;
  /// Equal to src, with an equal stride, to add in place; else it must not overlap src.
  void* dst = nullptr;
  int64_t dst_token_stride = 0;
};

/// Rows of a float32 table, one every row_stride floats. Token i takes row ids[i], or row i where
/// ids is null. The caller has checked the ids.
struct TableRows {
  const float* data = nullptr;
  int64_t row_stride = 0;
  const int64_t* ids = nullptr;
};

/// dst = src + row for every token: one float32 sum, rounded once to nearest even on store. NaN
/// stays NaN, subnormals are kept. Never allocates.
void add_table_rows(const TableRows& rows, const TokenBlock& block);

/// Which lane of an embedding takes what of pair j: its sine goes to lane sin_first + j *
/// lane_stride, its cosine to lane cos_first + j * lane_stride. Halves [sin | cos] are {0, d/2, 1},
/// interleaved sin, cos is {0, 1, 2}.
struct SinusoidColumns {
  int64_t sin_first = 0;
  int64_t cos_first = 0;
  int64_t lane_stride = 1;  ///< 1, or 2 with |sin_first - cos_first| = 1
};

/// dst = src + the sinusoidal row of the token's position. Rows as in rotate_pairs, then one
/// float32 sum rounded once on store. Lanes that no pair names (the last of an odd dim) are copied.
/// rows.tokens must equal block.tokens. Never allocates.
void add_sinusoid_rows(const AngleRows& rows, const SinusoidColumns& lanes,
                       const TokenBlock& block);

}  // namespace hodometer
