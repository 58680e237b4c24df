#pragma once

#include <cstdint>

#include "hodometer/base/tensor_view.h"

namespace hodometer {

/// dst[i] = float32(src[i]) for count elements of the dtype. Exact; NaN stays NaN (a signalling one
/// may become quiet). Never allocates.
void to_float32(DType dtype, const void* src, float* dst, int64_t count);

/// dst[i] = src[i] rounded to the dtype, to nearest even. Overflow gives infinity, NaN stays NaN,
/// subnormals are kept. Never allocates.
void from_float32(DType dtype, const float* src, void* dst, int64_t count);

}  // namespace hodometer
