#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hodometer/base/result.h"

namespace hodometer::cli {

/// How many numbers one list may have; more is a slip of the hand.
inline constexpr int64_t max_list_numbers = 1'000'000;

/// Positions as people type them, one list per axis: "0,1,5-8,131071" is 0 1 5 6 7 8 131071,
/// "0-100:25" is 0 25 50 75 100, and "0,1;0,0" has two axes of two tokens. `option` begins the
/// message of an error.
///
/// Errors: an empty list, what is not a number, a range that falls, a step below 1, axes of
/// different lengths, more than max_list_numbers numbers (found before any is stored).
Result<std::vector<std::vector<int64_t>>> parse_position_axes(std::string_view option,
                                                              std::string_view text);

/// The same where there are no axes.
Result<std::vector<int64_t>> parse_positions(std::string_view option, std::string_view text);

}  // namespace hodometer::cli
