#include "cli/nested_list.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>

#include "cli/json_text.h"

namespace hodometer::cli {
namespace {

constexpr size_t max_levels = 4;

Error wrong(const std::string& path, const std::string& what) {
  return {ErrorKind::bad_input, path + ": " + what};
}

template <class Number>
Status read_level(const Json& value, const std::string& path, size_t level,
                  NestedNumbers<Number>& list) {
  if (level == list.shape.size()) {
    if (!value.is_number())
      return wrong(path, fmt::format("expected a number, got {}", describe(value)));
    const auto number = static_cast<Number>(value.get<double>());
    if (!std::isfinite(number)) {
      return wrong(path, fmt::format("{} is beyond float{}", value.dump(), 8 * sizeof(Number)));
    }
    list.values.push_back(number);
    return {};
  }
  const auto wanted = static_cast<size_t>(list.shape[level]);
  if (!value.is_array()) {
    return wrong(path, fmt::format("expected a list of {}, got {}", wanted, describe(value)));
  }
  if (value.size() != wanted) {
    return wrong(path, fmt::format("has {} elements, expected {} as in the first list",
                                   value.size(), wanted));
  }
  for (size_t i = 0; i < wanted; ++i) {
    HODO_RETURN_IF_ERROR(read_level(value[i], fmt::format("{}[{}]", path, i), level + 1, list));
  }
  return {};
}

Json flat_list(std::span<const float> values) { return number_list(values); }

Json flat_list(std::span<const double> values) { return number_list(values, Precision::float64); }

template <class Number>
Json json_level(std::span<const int64_t> shape, std::span<const Number> values) {
  if (shape.size() == 1) return flat_list(values);
  Json list = Json::array();
  const size_t size = values.size() / static_cast<size_t>(shape.front());
  for (int64_t i = 0; i < shape.front(); ++i) {
    list.push_back(
        json_level(shape.subspan(1), values.subspan(static_cast<size_t>(i) * size, size)));
  }
  return list;
}

}  // namespace

template <class Number>
Result<NestedNumbers<Number>> read_nested_list(const Json& value, std::string_view name) {
  NestedNumbers<Number> list;
  std::string path(name);
  for (const Json* level = &value; level->is_array(); level = &level->front()) {
    if (level->empty()) return wrong(path, "is an empty list");
    if (list.shape.size() == max_levels) {
      return wrong(path, fmt::format("lists are nested more than {} deep", max_levels));
    }
    list.shape.push_back(static_cast<int64_t>(level->size()));
    path += "[0]";
  }
  if (list.shape.empty()) {
    return wrong(path, fmt::format("expected lists of numbers, got {}", describe(value)));
  }
  HODO_RETURN_IF_ERROR(read_level(value, std::string(name), 0, list));
  return list;
}

template <class Number>
Json nested_json(const std::vector<int64_t>& shape, const std::vector<Number>& values) {
  return json_level(std::span(shape), std::span(values));
}

template Result<NestedNumbers<float>> read_nested_list(const Json&, std::string_view);
template Result<NestedNumbers<double>> read_nested_list(const Json&, std::string_view);
template Json nested_json(const std::vector<int64_t>&, const std::vector<float>&);
template Json nested_json(const std::vector<int64_t>&, const std::vector<double>&);

}  // namespace hodometer::cli
