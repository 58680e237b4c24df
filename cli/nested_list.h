#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hodometer/base/json-inl.h"
#include "hodometer/base/result.h"

namespace hodometer::cli {

/// A rectangular array of float32 numbers, as nested lists in JSON.
struct NestedList {
  std::vector<int64_t> shape;
  std::vector<float> values;  ///< contiguous, the last dimension fastest

  int64_t last() const { return shape.back(); }
};

/// Reads one to four levels of lists. Errors name the place, such as x[3][1]: what is not a number
/// or beyond float32, lists of different lengths, an empty list, too many levels.
Result<NestedList> read_nested_list(const Json& value, std::string_view name);

/// The same nesting with other numbers.
Json nested_json(const std::vector<int64_t>& shape, const std::vector<float>& values);

}  // namespace hodometer::cli
