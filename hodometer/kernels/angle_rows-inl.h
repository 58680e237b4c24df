// Makes rows of cosines and sines. Included once per Highway target.

#include "hodometer/kernels/highway_config.h"

#if defined(HODOMETER_KERNELS_ANGLE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HODOMETER_KERNELS_ANGLE_ROWS_INL_H_
#undef HODOMETER_KERNELS_ANGLE_ROWS_INL_H_
#else
#define HODOMETER_KERNELS_ANGLE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hodometer/kernels/angle_phases.h"
#include "hodometer/kernels/angle_rows.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// With t an angle in quarter turns from the nearest quarter, |t| <= 1/2, and z = t * t:
//   sin = 2t + t (s0 + z (s1 + z (s2 + z s3)))      relative error 2^-26.5
//   cos = 1 + z (c0 + z (c1 + z (c2 + z c3)))       absolute error 2^-31
// tests/golden/trig_coefficients.py derives them. 2t is exact; pi/2 t would not be, and float32's
// pi/2 is off by a third of an ulp. The magnitude is folded in: it costs nothing per row.
template <class DF>
struct CosSinConstants {
  using V = hn::VFromD<DF>;
  CosSinConstants(DF df, double magnitude)
      : sin_lead(Scaled(df, 2.0, magnitude)),
        s0(Scaled(df, -0.4292037, magnitude)),
        s1(Scaled(df, -0.6459626, magnitude)),
        s2(Scaled(df, 0.07967021, magnitude)),
        s3(Scaled(df, -0.0045744292, magnitude)),
        cos_lead(Scaled(df, 1.0, magnitude)),
        c0(Scaled(df, -1.2337005, magnitude)),
        c1(Scaled(df, 0.25366852, magnitude)),
        c2(Scaled(df, -0.020855254, magnitude)),
        c3(Scaled(df, 0.0008935725, magnitude)) {}
  V sin_lead, s0, s1, s2, s3, cos_lead, c0, c1, c2, c3;

 private:
  static V Scaled(DF df, double coefficient, double magnitude) {
    return hn::Set(df, static_cast<float>(coefficient * magnitude));
  }
};

// Added to every phase, so that its upper 32 bits are rounded and its lower 32 bits, with their top
// bit flipped, are the signed rest: small angles keep all their bits on both sides of zero.
inline constexpr uint64_t kPhaseBias = uint64_t{1} << 31;

// `even` holds the biased phases of pairs 0, 2, 4, ... and `odd` those of 1, 3, 5, ...; the results
// are in order. Bounds: angle_rows.h.
template <class DF, class V64>
HWY_INLINE void CosSinOfPhases(DF df, const CosSinConstants<DF>& k, V64 even, V64 odd,
                               hn::VFromD<DF>& cos, hn::VFromD<DF>& sin) {
  const hn::RebindToSigned<DF> di;
  const auto high = hn::OddEven(hn::BitCast(di, odd), hn::BitCast(di, hn::ShiftRight<32>(even)));
  const auto low = hn::OddEven(hn::BitCast(di, hn::ShiftLeft<32>(odd)), hn::BitCast(di, even));
  const auto sign_bit = hn::Set(di, static_cast<int32_t>(0x80000000u));

  // Without its two top bits, a fraction of a turn is a fraction of a quarter turn; as a signed
  // number it is the distance to the nearest quarter.
  const auto to_quarter = hn::ConvertTo(df, hn::ShiftLeft<2>(high));
  const auto rest = hn::ConvertTo(df, hn::Xor(low, sign_bit));
  const auto t = hn::MulAdd(rest, hn::Set(df, 0x1p-62f), hn::Mul(to_quarter, hn::Set(df, 0x1p-32f)));
  const auto z = hn::Mul(t, t);

  const auto s = hn::MulAdd(z, hn::MulAdd(z, hn::MulAdd(z, k.s3, k.s2), k.s1), k.s0);
  const auto c = hn::MulAdd(z, hn::MulAdd(z, hn::MulAdd(z, k.c3, k.c2), k.c1), k.c0);
  const auto near_sin = hn::MulAdd(t, k.sin_lead, hn::Mul(t, s));
  const auto near_cos = hn::MulAdd(z, c, k.cos_lead);

  // The number of that quarter in the two top bits: odd quarters swap sine and cosine, quarters 2
  // and 3 negate the sine, 1 and 2 the cosine.
  const auto quarter = hn::Add(high, hn::Set(di, 1 << 29));
  const auto swap = hn::ShiftLeft<1>(quarter);
  const auto swap_float = hn::BitCast(df, swap);
  const auto sin_sign = hn::BitCast(df, hn::And(quarter, sign_bit));
  const auto cos_sign = hn::BitCast(df, hn::And(hn::Xor(quarter, swap), sign_bit));
  sin = hn::Xor(hn::IfNegativeThenElse(swap_float, near_cos, near_sin), sin_sign);
  cos = hn::Xor(hn::IfNegativeThenElse(swap_float, near_sin, near_cos), cos_sign);
}

// The rows of at most kRowPairs pairs, token after token. Lives on the stack.
class RowMaker {
  using DF = hn::ScalableTag<float>;
  using D64 = hn::ScalableTag<uint64_t>;

 public:
  // Rows of pairs [begin, begin + count).
  RowMaker(const AngleRows& rows, Direction direction, int64_t begin, int64_t count)
      : rows_(rows),
        begin_(begin),
        count_(count),
        backward_(direction == Direction::inverse),
        exact_(std::get_if<ExactAngles>(&rows.angles) != nullptr),
        fractional_(std::get_if<FractionalList>(&rows.positions) != nullptr) {
    const int64_t lanes = hn::Lanes(DF());
    padded_ = (count + lanes - 1) / lanes * lanes;
    if (!exact_ || fractional_) return;
    Arrange(std::get_if<ExactAngles>(&rows.angles)->steps + begin, steps_, 0);
  }

  // Writes the row of a token to cos() and sin().
  void Make(int64_t token) {
    if (exact_) {
      MakePhases(token);
      MakeCosSin(cos_, sin_);
    } else {
      internal::float32_row(rows_, token, begin_, count_, cos_, sin_);
      if (backward_) {
        for (int64_t j = 0; j < count_; ++j) sin_[j] = -sin_[j];
      }
    }
    if (rows_.decay != nullptr) {
      const float* decay = rows_.decay + token * rows_.decay_stride + begin_;
      for (int64_t j = 0; j < count_; ++j) {
        cos_[j] *= decay[j];
        sin_[j] *= decay[j];
      }
    }
  }

  const float* cos() const { return cos_; }
  const float* sin() const { return sin_; }

 private:
  // Pairs to the order that CosSinOfPhases wants: within each vector's worth of pairs first the
  // even ones, then the odd ones; negated where the angles are. Pairs beyond the last are zero.
  void Arrange(const uint64_t* in, uint64_t* out, uint64_t bias) const {
    const int64_t lanes = hn::Lanes(DF());
    for (int64_t block = 0; block < padded_; block += lanes) {
      for (int64_t i = 0; i < lanes; ++i) {
        const int64_t pair = block + i;
        const int64_t slot = block + i / 2 + (i % 2) * (lanes / 2);
        out[slot] = bias + (pair < count_ ? (backward_ ? 0 - in[pair] : in[pair]) : 0);
      }
    }
  }

  void MakePhases(int64_t token) {
    if (fractional_ || rows_.axes != nullptr) {
      uint64_t phases[internal::kRowPairs];
      (fractional_ ? internal::fractional_phases
                   : internal::phases_of_axes)(rows_, token, begin_, count_, phases);
      Arrange(phases, phases_, kPhaseBias);
      return;
    }
    const D64 d;
    const int64_t lanes = hn::Lanes(d);
    const auto position = static_cast<uint64_t>(internal::integer_position(rows_, token, 0));
    if (started_ && position == position_ + 1) {  // one exact addition away
      for (int64_t j = 0; j < padded_; j += lanes) {
        hn::Store(hn::Add(hn::Load(d, phases_ + j), hn::Load(d, steps_ + j)), d, phases_ + j);
      }
    } else {
      for (int64_t j = 0; j < padded_; ++j) phases_[j] = position * steps_[j] + kPhaseBias;
    }
    position_ = position;
    started_ = true;
  }

  void MakeCosSin(float* HWY_RESTRICT cos_out, float* HWY_RESTRICT sin_out) const {
    const DF df;
    const D64 d;
    const CosSinConstants<DF> constants(df, static_cast<double>(rows_.magnitude));
    const int64_t lanes = hn::Lanes(df);
    for (int64_t j = 0; j < padded_; j += lanes) {
      auto c = hn::Undefined(df), s = c;
      CosSinOfPhases(df, constants, hn::Load(d, phases_ + j),
                     hn::Load(d, phases_ + j + lanes / 2), c, s);
      hn::Store(c, df, cos_out + j);
      hn::Store(s, df, sin_out + j);
    }
  }

  const AngleRows& rows_;
  const int64_t begin_, count_;
  const bool backward_, exact_, fractional_;
  int64_t padded_;
  bool started_ = false;
  uint64_t position_ = 0;  // whose phases these are, once started
  HWY_ALIGN uint64_t steps_[internal::kRowPairs];
  HWY_ALIGN uint64_t phases_[internal::kRowPairs];
  HWY_ALIGN float cos_[internal::kRowPairs];
  HWY_ALIGN float sin_[internal::kRowPairs];
};

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
