#include <fmt/format.h>

#include <cmath>

#include "hodometer/ops/token_runs-inl.h"

namespace hodometer::internal {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// Rows that all sequences share are stored once.
template <class Number>
int64_t batch_stride(const PositionView::Array<Number>& array) {
  return array.batch == 1 ? 0 : array.batch_stride;
}
int64_t batch_stride(const PositionView::Starts& starts) {
  return starts.batch == 1 ? 0 : starts.stride;
}

template <class List, class Number>
List list_of(const PositionView::Array<Number>& array, const TokenRun& run) {
  return {array.data + run.offset(batch_stride(array), array.length_stride),
          run.stride(batch_stride(array), array.length_stride), array.axis_stride};
}

std::optional<int64_t> changes_beyond_of(const Method& method) {
  return std::visit(
      [](const auto& one) -> std::optional<int64_t> {
        if constexpr (requires { one.schedule; }) {
          return changes_beyond(one.schedule);
        } else if constexpr (requires { one.rotary.schedule; }) {
          return changes_beyond(one.rotary.schedule);
        } else {
          return std::nullopt;
        }
      },
      method);
}

std::string place(int64_t axis, int64_t num_axes, int64_t sequence, int64_t token) {
  return num_axes > 1 ? fmt::format("row {}, token {}, axis {}", sequence, token, axis)
                      : fmt::format("row {}, token {}", sequence, token);
}

/// The first element of an array that is not within [least, most]; NaN is within nothing.
template <class Number>
std::optional<OutsidePosition> find_outside_array(const PositionView::Array<Number>& array,
                                                  int64_t num_axes, int64_t least, int64_t most) {
  const auto low = static_cast<Number>(least);
  const auto high = static_cast<Number>(most);
  const int64_t axes = array.axis_stride == 0 ? 1 : num_axes;
  for (int64_t a = 0; a < axes; ++a) {
    for (int64_t b = 0; b < array.batch; ++b) {
      const Number* row = array.data + a * array.axis_stride + b * batch_stride(array);
      for (int64_t i = 0; i < array.length; ++i) {
        const Number value = row[i * array.length_stride];
        if (!(value >= low && value <= high)) {
          return OutsidePosition{place(a, num_axes, b, i), fmt::format("{}", value)};
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<OutsidePosition> find_outside_run(int64_t first, int64_t sequence, int64_t length,
                                                int64_t least, int64_t most) {
  if (first >= least && first <= most && length - 1 <= most - first) return std::nullopt;
  const bool at_once = first < least || first > most;
  const int64_t token = at_once ? 0 : most - first + 1;
  return OutsidePosition{place(0, 1, sequence, token), fmt::format("{}", first + token)};
}

}  // namespace

decltype(AngleRows::positions) positions_of(const PositionView& view, const TokenRun& run) {
  using Positions = decltype(AngleRows::positions);
  return std::visit(Overloaded{[&](const PositionView::Run& source) -> Positions {
                                 if (run.across) return PositionList{&source.first, 0, 0};
                                 return PositionRun{source.first + run.token};
                               },
                               [&](const PositionView::Starts& source) -> Positions {
                                 const int64_t* first =
                                     source.first + run.sequence * batch_stride(source);
                                 if (run.across)
                                   return PositionList{first, batch_stride(source), 0};
                                 return PositionRun{*first + run.token};
                               },
                               [&](const PositionView::Ids& source) -> Positions {
                                 return list_of<PositionList>(source, run);
                               },
                               [&](const PositionView::Coordinates& source) -> Positions {
                                 return list_of<FractionalList>(source, run);
                               }},
                    view.source());
}

double position_at(const PositionView& view, int64_t axis, int64_t sequence, int64_t token) {
  return std::visit(
      Overloaded{[&](const PositionView::Run& source) {
                   return static_cast<double>(source.first + token);
                 },
                 [&](const PositionView::Starts& source) {
                   return static_cast<double>(source.first[sequence * batch_stride(source)] +
                                              token);
                 },
                 [&](const auto& source) {
                   return static_cast<double>(
                       source.data[axis * source.axis_stride + sequence * batch_stride(source) +
                                   token * source.length_stride]);
                 }},
      view.source());
}

AngleRows angle_rows(const AnglePlan& angles, AngleMode mode, int64_t begin, int64_t pairs) {
  AngleRows rows;
  rows.pairs = pairs;
  if (mode == AngleMode::exact) {
    rows.angles = ExactAngles{angles.step.data() + begin, angles.turns.data() + begin};
  } else {
    rows.angles = Float32Angles{angles.inv_freq_float32.data() + begin};
  }
  return rows;
}

std::optional<OutsidePosition> find_outside(const PositionView& view, int64_t batch, int64_t length,
                                            int64_t least, int64_t most) {
  if (batch == 0 || length == 0) return std::nullopt;
  return std::visit(Overloaded{[&](const PositionView::Run& source) {
                                 return find_outside_run(source.first, 0, length, least, most);
                               },
                               [&](const PositionView::Starts& source) {
                                 std::optional<OutsidePosition> found;
                                 for (int64_t b = 0; b < source.batch && !found; ++b) {
                                   found = find_outside_run(source.first[b * batch_stride(source)],
                                                            b, length, least, most);
                                 }
                                 return found;
                               },
                               [&](const auto& source) {
                                 return find_outside_array(source, view.num_axes(), least, most);
                               }},
                    view.source());
}

Status check_shape(std::string_view operation, const PositionView& view, int64_t num_axes,
                   int64_t batch, int64_t length) {
  if (view.num_axes() != num_axes) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: positions have {} axes and the plan has {}: expected as many "
                             "(same_on_axes gives text the same position on all)",
                             operation, view.num_axes(), num_axes)};
  }
  const auto check_rows = [&](int64_t rows, const void* data) -> Status {
    if (rows != batch && rows != 1) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: positions have {} rows: expected {}, or 1 for all", operation,
                               rows, batch)};
    }
    if (data == nullptr && batch > 0 && length > 0) {
      return Error{ErrorKind::usage, fmt::format("{}: positions have no data", operation)};
    }
    return {};
  };
  return std::visit(
      Overloaded{[&](const PositionView::Run&) { return Status(); },
                 [&](const PositionView::Starts& source) -> Status {
                   HODO_RETURN_IF_ERROR(check_rows(source.batch, source.first));
                   return check_extents(operation, source.first, sizeof(int64_t),
                                        {{"rows of positions", source.batch, source.stride}});
                 },
                 [&](const auto& source) -> Status {
                   if (source.length != length) {
                     return Error{ErrorKind::usage,
                                  fmt::format("{}: positions have {} tokens: expected {}",
                                              operation, source.length, length)};
                   }
                   HODO_RETURN_IF_ERROR(check_rows(source.batch, source.data));
                   return check_extents(operation, source.data, sizeof(*source.data),
                                        {{"axes of positions", num_axes, source.axis_stride},
                                         {"rows of positions", source.batch, source.batch_stride},
                                         {"tokens of positions", length, source.length_stride}});
                 }},
      view.source());
}

int64_t largest_position(const Plan& plan) {
  const std::optional<int64_t> trained = changes_beyond_of(plan.spec.method);
  if (!trained) return max_position;
  return std::min(max_position, std::max(plan.context_length, *trained) - 1);
}

Status check_positions(std::string_view operation, const Plan& plan, const PositionView& view,
                       int64_t batch, int64_t length) {
  HODO_RETURN_IF_ERROR(check_shape(operation, view, plan.num_axes(), batch, length));
  const int64_t most = largest_position(plan);
  const auto outside = find_outside(view, batch, length, -max_position, most);
  if (!outside) return {};
  if (!find_outside(view, batch, length, -max_position, max_position)) {
    return Error{ErrorKind::limit,
                 fmt::format("{}: position {} ({}): the plan was made for context_length {}, and "
                             "beyond position {} its frequencies change with the length: expected "
                             "a plan for the longer sequence",
                             operation, outside->value, outside->place, plan.context_length, most)};
  }
  return Error{ErrorKind::limit,
               fmt::format("{}: position {} ({}): expected {} to {}", operation, outside->value,
                           outside->place, -max_position, max_position)};
}

Status check_extents(std::string_view operation, const void* data, int64_t element_size,
                     std::initializer_list<Extent> extents) {
  int64_t reach = element_size;
  int64_t bytes_in_all = element_size;
  bool empty = false;
  for (const Extent& extent : extents) {
    if (extent.size < 0) {
      return Error{ErrorKind::usage, fmt::format("{}: {} is {}: expected 0 or more", operation,
                                                 extent.name, extent.size)};
    }
    empty = empty || extent.size == 0;
  }
  if (empty) return {};
  for (const Extent& extent : extents) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(extent.size - 1, extent.stride, &bytes) ||
        __builtin_mul_overflow(bytes, element_size, &bytes) ||
        __builtin_add_overflow(reach, bytes < 0 ? -(bytes + 1) : bytes, &reach) ||
        __builtin_mul_overflow(bytes_in_all, extent.size, &bytes_in_all)) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: {} is {} with stride {}: expected a tensor of less than 2^63 "
                               "bytes",
                               operation, extent.name, extent.size, extent.stride)};
    }
  }
  if (data == nullptr) {
    return Error{ErrorKind::usage, fmt::format("{}: the tensor has no data", operation)};
  }
  return {};
}

}  // namespace hodometer::internal
