#include "hodometer/kernels/angle_phases.h"

#include <cmath>

namespace hodometer::internal {
namespace {

template <class List>
auto at(const List& list, int64_t token, int64_t axis) {
  return list.ids[token * list.token_stride + axis * list.axis_stride];
}

int64_t axis_of(const AngleRows& rows, int64_t pair) {
  return rows.axes == nullptr ? 0 : rows.axes[pair];
}

// The fraction of position * turns, times 2^64. The fused product keeps what its rounding drops.
uint64_t fractional_phase(double position, double turns) {
  const double product = position * turns;
  const double rest = std::fma(position, turns, -product);
  const double fraction = (product - std::nearbyint(product)) + rest;  // [-1/2, 1/2] and a little
  const double centred = fraction - std::nearbyint(fraction);
  if (centred >= 0.5) return uint64_t{1} << 63;  // 2^63 is no int64
  return static_cast<uint64_t>(static_cast<int64_t>(centred * 0x1p64));
}

}  // namespace

int64_t integer_position(const AngleRows& rows, int64_t token, int64_t axis) {
  if (const auto* run = std::get_if<PositionRun>(&rows.positions)) return run->first + token;
  return at(*std::get_if<PositionList>(&rows.positions), token, axis);
}

double position_as_double(const AngleRows& rows, int64_t token, int64_t axis) {
  if (const auto* list = std::get_if<FractionalList>(&rows.positions))
    return at(*list, token, axis);
  return static_cast<double>(integer_position(rows, token, axis));
}

void phases_of_axes(const AngleRows& rows, int64_t token, int64_t begin, int64_t count,
                    uint64_t* phases) {
  const uint64_t* steps = std::get_if<ExactAngles>(&rows.angles)->steps;
  for (int64_t j = 0; j < count; ++j) {
    const int64_t position = integer_position(rows, token, axis_of(rows, begin + j));
    phases[j] = static_cast<uint64_t>(position) * steps[begin + j];
  }
}

void fractional_phases(const AngleRows& rows, int64_t token, int64_t begin, int64_t count,
                       uint64_t* phases) {
  const double* turns = std::get_if<ExactAngles>(&rows.angles)->turns;
  for (int64_t j = 0; j < count; ++j) {
    const double position = position_as_double(rows, token, axis_of(rows, begin + j));
    phases[j] = fractional_phase(position, turns[begin + j]);
  }
}

void float32_row(const AngleRows& rows, int64_t token, int64_t begin, int64_t count, float* cos,
                 float* sin) {
  const float* inv_freq = std::get_if<Float32Angles>(&rows.angles)->inv_freq;
  for (int64_t j = 0; j < count; ++j) {
    const double position = position_as_double(rows, token, axis_of(rows, begin + j));
    const float angle = static_cast<float>(position) * inv_freq[begin + j];
    cos[j] = static_cast<float>(std::cos(static_cast<double>(angle)));
    sin[j] = static_cast<float>(std::sin(static_cast<double>(angle)));
  }
}

}  // namespace hodometer::internal
