#include "cli/number_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace hodometer::cli {

std::string grouped(int64_t value) {
  std::string text = fmt::format("{}", value);
  const int64_t first_digit = value < 0 ? 1 : 0;
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > first_digit; at -= 3) {
    text.insert(static_cast<size_t>(at), 1, ',');
  }
  return text;
}

std::string wavelength_text(double value) {
  if (!std::isfinite(value)) return "never";
  if (value >= 1e12) return fmt::format("{:.3e}", value);
  // Four digits are kept; what follows them in a large number is zeros, not noise.
  const double rounded = std::strtod(fmt::format("{:.3e}", value).c_str(), nullptr);
  if (rounded >= 1000) return grouped(std::llround(rounded));
  return fmt::format("{:.4g}", value);
}

std::string factor_text(double value) { return fmt::format("{:.6g}", value); }

}  // namespace hodometer::cli
