#pragma once

#include <cstdint>

#include "hodometer/kernels/angle_rows.h"

namespace hodometer {

/// The classic cache: cos and sin of shape [tokens, pairs] in float32, with a row every row_stride
/// floats in both. Exactly the rows that rotate_pairs uses. Never allocates.
void make_table(const AngleRows& rows, float* cos, float* sin, int64_t row_stride);

}  // namespace hodometer
