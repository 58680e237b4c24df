#include "hodometer/base/check.h"

#include <fmt/format.h>

#include <cmath>

namespace hodometer {

Status check_finite(std::string_view name, double value) {
  if (std::isfinite(value)) return {};
  return Error{ErrorKind::bad_input,
               fmt::format("{} is {}: expected a finite number", name, value)};
}

Status check_positive(std::string_view name, double value) {
  if (std::isfinite(value) && value > 0) return {};
  return Error{ErrorKind::bad_input,
               fmt::format("{} is {}: expected a finite number above 0", name, value)};
}

Status check_share(std::string_view name, double value) {
  if (value >= 0 && value <= 1) return {};
  return Error{ErrorKind::bad_input, fmt::format("{} is {}: expected 0 to 1", name, value)};
}

Status check_at_least(std::string_view name, int64_t value, int64_t least) {
  if (value >= least) return {};
  return Error{ErrorKind::bad_input,
               fmt::format("{} is {}: expected {} or more", name, value, least)};
}

Status check_between(std::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return Error{ErrorKind::bad_input,
               fmt::format("{} is {}: expected {} to {}", name, value, least, most)};
}

Status check_even(std::string_view name, int64_t value) {
  if (value >= 0 && value % 2 == 0) return {};
  return Error{
      ErrorKind::bad_input,
      fmt::format("{} is {}: expected an even number, because lanes turn in pairs", name, value)};
}

}  // namespace hodometer
