#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>

namespace hodometer {

/// Where tokens stand: what an operation takes. Owns nothing, allocates nothing, and is as cheap to
/// copy as a few integers. What makes position ids is in position_ids.h.
///
/// The logical shape is [axes, batch, length]. Every kind of view gives one position per token and
/// axis; a batch of sequences always has a row of positions each, or says that they share one.
class PositionView {
 public:
  /// Token i of every sequence stands at first + i, on every axis.
  struct Run {
    int64_t first = 0;
  };
  /// Token i of sequence b stands at first[b * stride] + i, on every axis.
  struct Starts {
    const int64_t* first = nullptr;
    int64_t batch = 0;
    int64_t stride = 1;
  };
  /// Token i of sequence b stands at data[a * axis_stride + b * batch_stride + i * length_stride]
  /// on axis a. Strides in elements; batch 1 means that all sequences share the row.
  template <class Number>
  struct Array {
    const Number* data = nullptr;
    int64_t batch = 0;
    int64_t length = 0;
    int64_t axis_stride = 0;
    int64_t batch_stride = 0;
    int64_t length_stride = 1;
  };
  using Ids = Array<int64_t>;
  using Coordinates = Array<double>;
  using Source = std::variant<Run, Starts, Ids, Coordinates>;

  /// first, first + 1, ... for every sequence.
  static constexpr PositionView range(int64_t first) { return {Run{first}, 1}; }
  /// A first position per sequence: decoding with caches of different lengths.
  static constexpr PositionView starts(std::span<const int64_t> first) {
    return {Starts{first.data(), static_cast<int64_t>(first.size()), 1}, 1};
  }
  /// Ids of shape [length], the same for every sequence.
  static constexpr PositionView shared_ids(std::span<const int64_t> ids) {
    const auto length = static_cast<int64_t>(ids.size());
    return {Ids{ids.data(), 1, length, 0, 0, 1}, 1};
  }
  /// Contiguous ids of shape [batch, length].
  static constexpr PositionView ids(const int64_t* data, int64_t batch, int64_t length) {
    return {Ids{data, batch, length, 0, length, 1}, 1};
  }
  /// Contiguous ids of shape [num_axes, batch, length]: time, height and width of M-RoPE, or the
  /// two coordinates of patches.
  static constexpr PositionView axes(const int64_t* data, int64_t num_axes, int64_t batch,
                                     int64_t length) {
    return {Ids{data, batch, length, batch * length, length, 1}, num_axes};
  }
  /// Contiguous positions of shape [num_axes, batch, length] that need not be whole numbers.
  static constexpr PositionView coordinates(const double* data, int64_t num_axes, int64_t batch,
                                            int64_t length) {
    return {Coordinates{data, batch, length, batch * length, length, 1}, num_axes};
  }
  /// Any strides.
  static constexpr PositionView strided(const Starts& starts) { return {starts, 1}; }
  static constexpr PositionView strided(const Ids& ids, int64_t num_axes) {
    return {ids, num_axes};
  }
  static constexpr PositionView strided(const Coordinates& coordinates, int64_t num_axes) {
    return {coordinates, num_axes};
  }

  /// The same positions on `num_axes` axes: text for a model whose positions have several. A plan
  /// over several axes refuses a view with one, because running ids for image patches lose their
  /// places without any other sign.
  constexpr PositionView same_on_axes(int64_t num_axes) const {
    PositionView view = *this;
    view.num_axes_ = num_axes;
    if (auto* ids = std::get_if<Ids>(&view.source_)) ids->axis_stride = 0;
    if (auto* numbers = std::get_if<Coordinates>(&view.source_)) numbers->axis_stride = 0;
    return view;
  }

  constexpr const Source& source() const { return source_; }
  constexpr int64_t num_axes() const { return num_axes_; }

 private:
  constexpr PositionView(Source source, int64_t num_axes) : source_(source), num_axes_(num_axes) {}

  Source source_;
  int64_t num_axes_;
};

static_assert(std::is_trivially_copyable_v<PositionView>);

}  // namespace hodometer
