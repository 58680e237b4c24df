#pragma once

// Private: what the tests of operations share. Not installed.

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "hodometer/base/tensor_view.h"
#include "hodometer/kernels/convert.h"
#include "hodometer/plan/plan.h"

namespace hodometer::testing {

/// Where short prompts hide nothing: around powers of two, and the last one.
inline const std::vector<int64_t> far_positions{
    0,     1,     2,     255,   256,   257,    2047,    2048,      2049, 4095,
    4096,  4097,  32767, 32768, 65535, 65536,  131071,  1048575,   max_position};

/// cos and sin of position * base^(-2 pair / rotary_dim) by MPFR, from the numbers of the paper and
/// with no phase, plan or table.
struct Turn {
  double cos;
  double sin;
};
inline Turn paper_turn(double base, int64_t pair, int64_t rotary_dim, double position) {
  mpfr_t angle, exponent, result;
  mpfr_inits2(256, angle, exponent, result, nullptr);
  mpfr_set_si(exponent, -2 * pair, MPFR_RNDN);
  mpfr_div_si(exponent, exponent, rotary_dim, MPFR_RNDN);
  mpfr_set_d(angle, base, MPFR_RNDN);
  mpfr_pow(angle, angle, exponent, MPFR_RNDN);
  mpfr_mul_d(angle, angle, position, MPFR_RNDN);
  Turn turn{};
  mpfr_cos(result, angle, MPFR_RNDN);
  turn.cos = mpfr_get_d(result, MPFR_RNDN);
  mpfr_sin(result, angle, MPFR_RNDN);
  turn.sin = mpfr_get_d(result, MPFR_RNDN);
  mpfr_clears(angle, exponent, result, nullptr);
  return turn;
}

inline PositionSpec spec_of(std::string_view text) { return parse_spec(text).value(); }

inline Plan plan_of(std::string_view text, int64_t context_length = 1,
                    AngleMode mode = AngleMode::exact) {
  return make_plan(spec_of(text), context_length, mode).value();
}

/// A tensor with memory of its own, some of it between and around the heads, so that a write outside
/// shows. Values are pseudo-random in [-2, 2).
class Heads {
 public:
  Heads(HeadsView shape, int64_t elements, uint64_t seed = 1) : view_(shape) {
    std::vector<float> values(static_cast<size_t>(elements));
    for (float& value : values) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<float>(static_cast<double>(seed >> 11) * 0x1p-51 - 2);
    }
    bytes_.resize(static_cast<size_t>(elements * dtype_size(shape.dtype)));
    from_float32(shape.dtype, values.data(), bytes_.data(), elements);
  }
  static Heads bshd(DType dtype, int64_t batch, int64_t length, int64_t heads, int64_t head_dim,
                    uint64_t seed = 1) {
    return {HeadsView::bshd(nullptr, dtype, batch, length, heads, head_dim),
            batch * length * heads * head_dim, seed};
  }

  HeadsView view() {
    HeadsView view = view_;
    view.data = bytes_.data() + base * dtype_size(view.dtype);
    return view;
  }
  double at(int64_t b, int64_t i, int64_t h, int64_t lane) const {
    return element(base + b * view_.batch_stride + i * view_.length_stride +
                   h * view_.head_stride + lane);
  }
  double element(int64_t index) const {
    float value = 0;
    to_float32(view_.dtype, bytes_.data() + index * dtype_size(view_.dtype), &value, 1);
    return value;
  }
  int64_t elements() const {
    return static_cast<int64_t>(bytes_.size()) / dtype_size(view_.dtype);
  }
  friend bool operator==(const Heads& a, const Heads& b) { return a.bytes_ == b.bytes_; }
  const HeadsView& shape() const { return view_; }

  int64_t base = 0;  ///< element where the view begins

 private:
  HeadsView view_;
  std::vector<unsigned char> bytes_;
};

/// What one rounding to the dtype may change in a value.
inline double rounding(DType dtype, double value) {
  switch (dtype) {
    case DType::float32:
      return 0;
    case DType::bfloat16:
      return std::abs(value) * 0x1p-8 + 1e-38;
    case DType::float16:
      return std::abs(value) * 0x1p-11 + 0x1p-25;
  }
  return 0;
}

}  // namespace hodometer::testing
