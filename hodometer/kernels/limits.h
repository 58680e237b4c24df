#pragma once

#include <cstdint>

#include "hodometer/base/tensor_view.h"

namespace hodometer {

/// What memory allows on this machine, for benchmarks: the plainest loops that touch the same bytes
/// as a kernel, on the same instruction set. `factor` and `value` are opaque to the compiler.

/// x[i] *= factor. float32: one multiplication. 16-bit types: the bits are multiplied as integers,
/// so that nothing but memory is measured; the result has no meaning as a number.
void scale_in_place(DType dtype, void* data, int64_t count, float factor);

/// data[i] = value.
void fill(float* data, int64_t count, float value);

/// The sum of all elements, in no particular order.
float sum(const float* data, int64_t count);

}  // namespace hodometer
