#pragma once

#include <cstdint>

namespace hodometer {

// Rows of float32 as 8-bit integers from -127 to 127 and a scale for each row. The scale is
// largest |lane| / 127, so a lane comes back within largest |lane| / 254 and 1e-4 of that. Rows
// whose lanes are all below 1e-36 become 0; one with a lane that is not finite comes back as NaN.
// Rows lie one after the other, at any address. The bits are the same on every instruction set.
// Never allocates.

/// Writes count rows of integers and as many scales.
void to_int8_rows(const float* rows, int64_t count, int64_t lanes, int8_t* integers, float* scales);

/// rows = scale * integers.
void from_int8_rows(const int8_t* integers, const float* scales, int64_t count, int64_t lanes,
                    float* rows);

}  // namespace hodometer
