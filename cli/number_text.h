#pragma once

#include <cstdint>
#include <string>

namespace hodometer::cli {

/// A whole number with its digits in threes: "131,072".
std::string grouped(int64_t value);

/// A number of at least four significant digits, whole ones in threes: "6.283", "54,410".
/// An infinite one is "never".
std::string wavelength_text(double value);

/// A factor with up to six significant digits: "1", "1.13863".
std::string factor_text(double value);

}  // namespace hodometer::cli
