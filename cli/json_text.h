#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "hodometer/base/json-inl.h"

namespace hodometer::cli {

/// JSON for people and programs: members on lines of their own, lists of numbers on one line.
/// Numbers have the fewest digits that give the same value back. Ends in a newline.
std::string json_text(const Json& value);

/// The number whose fewest digits are those of the float32: 0.1 and not 0.10000000149011612.
double shortest_float32(double value);

/// How the numbers of a list were computed, and so how many digits they have.
enum class Precision : uint8_t { float32, float64 };

/// A list of numbers. What JSON cannot say (an infinite wavelength) is null.
Json number_list(std::span<const double> values, Precision precision);
Json number_list(std::span<const float> values);

/// Rows of a contiguous [rows, width] array.
Json number_rows(std::span<const double> values, int64_t width, Precision precision);

}  // namespace hodometer::cli
