#pragma once

#include <cstdint>

#include "hodometer/kernels/angle_rows.h"

namespace hodometer::internal {

/// The scalar half of row making: positions to phases, and the float32 angle mode. The vector half
/// is angle_rows-inl.h.

/// Rows are made for at most this many pairs at a time, so that they fit in L1 beside the data.
inline constexpr int64_t kRowPairs = 256;

/// The position of a token on an axis.
int64_t integer_position(const AngleRows& rows, int64_t token, int64_t axis);
/// The same as a double, whatever kind of positions the rows have.
double position_as_double(const AngleRows& rows, int64_t token, int64_t axis);

/// A phase is a fraction of a turn times 2^64. Of pairs [begin, begin + count) with their own axes.
void phases_of_axes(const AngleRows& rows, int64_t token, int64_t begin, int64_t count,
                    uint64_t* phases);
/// The same from fractional positions.
void fractional_phases(const AngleRows& rows, int64_t token, int64_t begin, int64_t count,
                       uint64_t* phases);

/// cos and sin of pairs [begin, begin + count) in the float32 angle mode, without the magnitude.
void float32_row(const AngleRows& rows, int64_t token, int64_t begin, int64_t count, float* cos,
                 float* sin);

}  // namespace hodometer::internal
