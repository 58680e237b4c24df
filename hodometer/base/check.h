#pragma once

#include <cstdint>
#include <string_view>

#include "hodometer/base/result.h"

namespace hodometer {

/// The range checks that specs share. Each names the member and its value when it fails.
Status check_finite(std::string_view name, double value);
Status check_positive(std::string_view name, double value);
/// From 0 to 1.
Status check_share(std::string_view name, double value);
Status check_at_least(std::string_view name, int64_t value, int64_t least);
Status check_between(std::string_view name, int64_t value, int64_t least, int64_t most);
Status check_even(std::string_view name, int64_t value);

}  // namespace hodometer
