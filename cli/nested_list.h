#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hodometer/base/json-inl.h"
#include "hodometer/base/result.h"

namespace hodometer::cli {

/// A rectangular array of float or double numbers, as nested lists in JSON.
template <class Number>
struct NestedNumbers {
  std::vector<int64_t> shape;
  std::vector<Number> values;  ///< contiguous, the last dimension fastest

  int64_t last() const { return shape.back(); }
};
using NestedList = NestedNumbers<float>;

/// Reads one to four levels of lists. Errors name the place, such as x[3][1]: what is not a number
/// or beyond the type, lists of different lengths, an empty list, too many levels.
template <class Number = float>
Result<NestedNumbers<Number>> read_nested_list(const Json& value, std::string_view name);

/// The same nesting with other numbers; what JSON cannot say is null.
template <class Number>
Json nested_json(const std::vector<int64_t>& shape, const std::vector<Number>& values);

}  // namespace hodometer::cli
