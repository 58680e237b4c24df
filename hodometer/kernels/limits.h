#pragma once

#include <cstdint>

#include "hodometer/base/tensor_view.h"

namespace hodometer {

/// What memory and arithmetic allow on this machine, for benchmarks: the plainest loops that touch
/// the same bytes as a kernel or do as many products, on the same instruction set. `factor` and
/// `value` are opaque to the compiler.

/// x[i] *= factor. float32: one multiplication. 16-bit types: the bits are multiplied as integers,
/// so that nothing but memory is measured; the result has no meaning as a number.
void scale_in_place(DType dtype, void* data, int64_t count, float factor);

/// data[i] = value.
void fill(float* data, int64_t count, float value);

/// The sum of all elements, in no particular order.
float sum(const float* data, int64_t count);

/// At least `count` float32 multiply-adds, all in registers, enough of them independent to fill the
/// machine's latency: sum = sum * factor + value. Returns a sum of a few.
float multiply_add(int64_t count, float factor, float value);

}  // namespace hodometer
