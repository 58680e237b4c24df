#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/formats/file_tensor.h"

namespace hodometer {

/// Whether dequantise() knows the type.
bool can_dequantise(TensorType type);

/// The numbers that `bytes` hold, as float32: widened from floats and integers, or `scale * q`
/// (and the block's minimum) for packed types. F64 is rounded once.
///
/// Understood: F64, F32, F16, BF16, I8, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K. Errors:
/// another type; bytes that are no whole number of blocks.
/// Source: dequantize_row_* of ggml-quants.c.
Result<std::vector<float>> dequantise(TensorType type, std::span<const std::byte> bytes);

/// Row `row` of a tensor of two dimensions or more, whose last dimension is the row. `file` is the
/// whole file that the tensor's directory was read from; nothing but the row is touched.
Result<std::vector<float>> dequantise_row(std::span<const std::byte> file, const FileTensor& tensor,
                                          int64_t row);

}  // namespace hodometer
