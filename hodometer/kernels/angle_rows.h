#pragma once

#include <cstdint>
#include <variant>

namespace hodometer {

/// Angles from a phase accumulator. A pair's inverse frequency is a 64-bit fixed-point fraction of
/// a turn per position: step = inv_freq / (2 pi) * 2^64, modulo 2^64. position * step in wrapping
/// arithmetic is then the exact range reduction at every position, on every instruction set.
struct ExactAngles {
  const uint64_t* steps = nullptr;  ///< [pairs]
  /// [pairs] turns per position, not reduced; read only for fractional positions. The angle is then
  /// within |position * turns| * 2^-53 turns of the truth.
  const double* turns = nullptr;
};

/// Angles as Hugging Face computes them: one float32 product of the position, rounded to float32,
/// and a float32 inverse frequency; then the cosine and sine of that float32 angle, rounded to
/// float32 (from double: the nearest float32 but for about one angle in 10^8), times the float32
/// magnitude. Off the true angle by up to an ulp of it, half from the product and half from the
/// frequency: 8e-3 at position 131071.
struct Float32Angles {
  const float* inv_freq = nullptr;  ///< [pairs] radians per position
};

/// Token i stands at position first + i.
struct PositionRun {
  int64_t first = 0;
};

/// Token i stands at ids[i * token_stride + a * axis_stride] on axis a.
struct PositionList {
  const int64_t* ids = nullptr;
  int64_t token_stride = 1;
  int64_t axis_stride = 0;
};

/// The same for positions that are not integers. Never NaN or infinite.
struct FractionalList {
  const double* ids = nullptr;
  int64_t token_stride = 1;
  int64_t axis_stride = 0;
};

/// Inverse and transpose turn by the negated angle. Magnitude and decay multiply in all three: the
/// caller passes their reciprocals for the inverse of the whole map, and the same values for its
/// transpose, which gradients go back through.
enum class Direction : uint8_t { forward, inverse, transpose };

/// One row of cosines and sines per token, described and not stored: kernels make each row in L1
/// when they come to its token.
///
/// Bound, exact angles and integer positions: |error| <= 6e-8 for cosine and sine, for every phase
/// and on every target. The sine of a phase within an eighth of a turn of 0 is within 2 ulp, down
/// to 2^-38 of a turn; below that the phase's own unit of 2^-64 shows. A magnitude multiplies the
/// bound, and its product is rounded once more, as is that with a decay.
struct AngleRows {
  int64_t tokens = 0;
  int64_t pairs = 0;
  std::variant<ExactAngles, Float32Angles> angles;
  std::variant<PositionRun, PositionList, FractionalList> positions;
  /// [pairs] the axis whose position turns each pair; null: all follow axis 0. With a PositionRun
  /// all axes are equal.
  const uint8_t* axes = nullptr;
  /// Multiplies cosine and sine: the attention factor.
  float magnitude = 1.0f;
  /// [tokens, pairs] another factor for cosine and sine, with a row every decay_stride floats
  /// (xPos); null: none.
  const float* decay = nullptr;
  int64_t decay_stride = 0;
};

}  // namespace hodometer
