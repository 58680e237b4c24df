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

// a * b + c rounded once, also (all but) where the instruction set has no such operation.
template <class DF, class V = hn::VFromD<DF>>
HWY_INLINE V FusedMulAdd(DF df, V a, V b, V c) {
#if HWY_NATIVE_FMA
  (void)df;
  return hn::MulAdd(a, b, c);
#else
  // Parts of 12 bits have exact products, and what the rounding of a * b drops is the sum of theirs
  // (T. J. Dekker, A floating-point technique for extending the available precision, 1971).
  const V splitter = hn::Set(df, 4097.0f);
  const V a_scaled = hn::Mul(a, splitter), b_scaled = hn::Mul(b, splitter);
  const V a_high = hn::Sub(a_scaled, hn::Sub(a_scaled, a)), a_low = hn::Sub(a, a_high);
  const V b_high = hn::Sub(b_scaled, hn::Sub(b_scaled, b)), b_low = hn::Sub(b, b_high);
  const V product = hn::Mul(a, b);
  V dropped = hn::Sub(hn::Mul(a_high, b_high), product);
  dropped = hn::Add(dropped, hn::Mul(a_high, b_low));
  dropped = hn::Add(dropped, hn::Mul(a_low, b_high));
  dropped = hn::Add(dropped, hn::Mul(a_low, b_low));
  return hn::Add(product, hn::Add(dropped, c));
#endif
}

// A phase, a fraction of a turn times 2^64, in two halves of 32 bits: high is rounded to the
// nearest, so that low is what is left as a signed number. Small angles keep all their bits on both
// sides of zero.
template <class DF>
struct SplitPhase {
  hn::VFromD<hn::RebindToSigned<DF>> high, low;
};

// The row of one vector of pairs. Bounds: angle_rows.h. With t the angle in quarter turns from the
// nearest quarter, |t| <= 1/2, and z = t * t:
//   sin = t S + t (s0 + z (s1 + z (s2 + z s3)))        relative error 2^-28
//   cos = 1 - z + z (c0 + z (c1 + z (c2 + z c3)))      absolute error 2^-33
// tests/golden/trig_coefficients.py derives them. t S and 1 - z stand unrounded, so that one
// rounding of the result, one of t and a few of small numbers are all there is.
template <class DF>
HWY_INLINE void StoreCosSin(DF df, const SplitPhase<DF>& phase, float* HWY_RESTRICT cos,
                            float* HWY_RESTRICT sin) {
  const hn::RebindToSigned<DF> di;
  const auto k = [df](float constant) HWY_ATTR { return hn::Set(df, constant); };
  // Without its two top bits, a fraction of a turn is a fraction of a quarter turn; as a signed
  // number it is the distance to the nearest quarter.
  const auto to_quarter = hn::Mul(hn::ConvertTo(df, hn::ShiftLeft<2>(phase.high)), k(0x1p-32f));
  const auto t = hn::MulAdd(hn::ConvertTo(df, phase.low), k(0x1p-62f), to_quarter);
  const auto z = hn::Mul(t, t);

  auto s = hn::MulAdd(z, k(-4.602512e-03f), k(7.968036e-02f));
  s = FusedMulAdd(df, z, hn::MulAdd(z, s, k(-6.459635e-01f)), k(-4.879796e-08f));
  const auto near_sin = FusedMulAdd(df, t, k(1.5707964f), hn::Mul(t, s));

  // 1/2 + z has bits down to 2^-24 only, and so have its distances from 3/2 and 1/2: those are
  // exact.
  const auto coarse = hn::Add(z, k(0.5f));
  const auto rest = FusedMulAdd(df, hn::Neg(t), t, hn::Sub(coarse, k(0.5f)));
  auto c = hn::MulAdd(z, k(9.043745e-04f), k(-2.0860443e-02f));
  c = hn::MulAdd(z, hn::MulAdd(z, c, k(2.5366926e-01f)), k(-2.3370054e-01f));
  const auto near_cos = hn::Add(hn::Sub(k(1.5f), coarse), hn::MulAdd(z, c, rest));

  // The number of that quarter in the two top bits: odd quarters swap sine and cosine, quarters 2
  // and 3 negate the sine, 1 and 2 (that is, 2 and 3 after one more) the cosine.
  const auto quarter = hn::Add(phase.high, hn::Set(di, 1 << 29));
  const auto sign_bit = hn::Set(di, static_cast<int32_t>(0x80000000u));
  const auto sin_sign = hn::And(quarter, sign_bit);
  const auto cos_sign = hn::And(hn::Add(quarter, hn::Set(di, 1 << 30)), sign_bit);
  const auto swap = hn::BroadcastSignBit(hn::ShiftLeft<1>(quarter));
  const auto differ = hn::And(hn::Xor(hn::BitCast(di, near_sin), hn::BitCast(di, near_cos)), swap);
  const auto sin_bits = hn::Xor(hn::Xor(hn::BitCast(di, near_sin), differ), sin_sign);
  const auto cos_bits = hn::Xor(hn::Xor(hn::BitCast(di, near_cos), differ), cos_sign);
  hn::StoreU(hn::BitCast(df, sin_bits), df, sin);
  hn::StoreU(hn::BitCast(df, cos_bits), df, cos);
}

// The rows of at most kRowPairs pairs, token after token. Lives on the stack.
class RowMaker {
  using DF = hn::ScalableTag<float>;
  using DI = hn::RebindToSigned<DF>;
  using D64 = hn::RepartitionToWide<hn::RebindToUnsigned<DF>>;
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

 public:
  // Rows of pairs [begin, begin + count).
  RowMaker(const AngleRows& rows, Direction direction, int64_t begin, int64_t count)
      : rows_(rows),
        begin_(begin),
        count_(count),
        padded_((count + kLanes - 1) / kLanes * kLanes),
        sign_(direction == Direction::forward ? 1 : ~uint64_t{0}),
        exact_(std::get_if<ExactAngles>(&rows.angles)),
        fractional_(std::get_if<FractionalList>(&rows.positions) != nullptr) {
    if (exact_ == nullptr) return;
    // Phases of fractional positions and of axes go to the buffer too, and leave its tail alone.
    std::fill(buffer_ + count_, buffer_ + padded_, 0);
    if (fractional_) return;
    steps_ = exact_->steps + begin;
    if (padded_ == count_ || rows.axes != nullptr) return;
    std::copy_n(steps_, count_, buffer_);
    steps_ = buffer_;
  }

  // Writes the row of a token to cos() and sin().
  void Make(int64_t token) {
    if (exact_ != nullptr) {
      MakeExact(token, cos_, sin_);
    } else {
      internal::float32_row(rows_, token, begin_, count_, cos_, sin_);
      if (sign_ != 1) {
        for (int64_t j = 0; j < count_; ++j) sin_[j] = -sin_[j];
      }
    }
    if (rows_.magnitude != 1.0f) Scale([&](int64_t) { return rows_.magnitude; });
    if (rows_.decay != nullptr) {
      const float* decay = rows_.decay + token * rows_.decay_stride + begin_;
      Scale([&](int64_t j) { return decay[j]; });
    }
  }

  // Writes the row of a token to count floats each.
  void MakeInto(int64_t token, float* cos_out, float* sin_out) {
    if (exact_ != nullptr && rows_.magnitude == 1.0f && rows_.decay == nullptr &&
        padded_ == count_) {
      MakeExact(token, cos_out, sin_out);
      return;
    }
    Make(token);
    std::copy_n(cos_, count_, cos_out);
    std::copy_n(sin_, count_, sin_out);
  }

  const float* cos() const { return cos_; }
  const float* sin() const { return sin_; }

 private:
  template <class Factor>
  HWY_INLINE void Scale(const Factor& factor) {
    for (int64_t j = 0; j < count_; ++j) {
      cos_[j] *= factor(j);
      sin_[j] *= factor(j);
    }
  }

  // Writes whole vectors.
  HWY_INLINE void MakeExact(int64_t token, float* cos_out, float* sin_out) {
    if (fractional_) {
      internal::fractional_phases(rows_, token, begin_, count_, buffer_);
      MakeFrom(buffer_, sign_, cos_out, sin_out);
    } else if (rows_.axes != nullptr) {
      internal::phases_of_axes(rows_, token, begin_, count_, buffer_);
      MakeFrom(buffer_, sign_, cos_out, sin_out);
    } else {
      const auto position = static_cast<uint64_t>(internal::integer_position(rows_, token, 0));
      if (token > 0 && position == position_ + 1) {
        MakeNext(cos_out, sin_out);
      } else {
        MakeFrom(steps_, position * sign_, cos_out, sin_out);
      }
      position_ = position;
    }
  }

  // The row of the phases factors[j] * factor.
  HWY_INLINE void MakeFrom(const uint64_t* factors, uint64_t factor, float* cos_out,
                           float* sin_out) {
    const D64 d;
    const hn::RebindToUnsigned<DF> du;
    const auto f = hn::Set(d, factor);
    const auto half = hn::Set(d, uint64_t{1} << 31);
    for (int64_t j = 0; j < padded_; j += kLanes) {
      const auto lower = hn::Mul(hn::LoadU(d, factors + j), f);
      const auto upper = hn::Mul(hn::LoadU(d, factors + j + kLanes / 2), f);
      const auto low = hn::ConcatEven(du, hn::BitCast(du, upper), hn::BitCast(du, lower));
      const auto high = hn::ConcatOdd(du, hn::BitCast(du, hn::Add(upper, half)),
                                      hn::BitCast(du, hn::Add(lower, half)));
      const SplitPhase<DF> phase{hn::BitCast(DI(), high), hn::BitCast(DI(), low)};
      Keep(phase, j);
      StoreCosSin(DF(), phase, cos_out + j, sin_out + j);
    }
  }

  // The row one step after the last: the next position is one exact addition away.
  HWY_INLINE void MakeNext(float* cos_out, float* sin_out) {
    if (!can_advance_) SplitSteps();
    const DI di;
    for (int64_t j = 0; j < padded_; j += kLanes) {
      // The carry out of the unsigned sum of the lower halves; both sides are less by 2^31, for the
      // comparison is of signed numbers.
      const auto low = hn::Add(hn::Load(di, low_ + j), hn::Load(di, step_low_ + j));
      const auto carry = hn::VecFromMask(di, hn::Lt(low, hn::Load(di, step_low_less_ + j)));
      const auto high =
          hn::Sub(hn::Add(hn::Load(di, high_ + j), hn::Load(di, step_high_ + j)), carry);
      const SplitPhase<DF> phase{high, low};
      Keep(phase, j);
      StoreCosSin(DF(), phase, cos_out + j, sin_out + j);
    }
  }

  HWY_INLINE void Keep(const SplitPhase<DF>& phase, int64_t j) {
    hn::Store(phase.high, DI(), high_ + j);
    hn::Store(phase.low, DI(), low_ + j);
  }

  void SplitSteps() {
    for (int64_t j = 0; j < padded_; ++j) {
      const uint64_t step = steps_[j] * sign_;
      const auto low = static_cast<uint32_t>(step);
      step_low_[j] = static_cast<int32_t>(low);
      step_low_less_[j] = static_cast<int32_t>(low ^ 0x80000000u);
      step_high_[j] = static_cast<int32_t>(step >> 32);
    }
    can_advance_ = true;
  }

  const AngleRows& rows_;
  const int64_t begin_, count_, padded_;
  const uint64_t sign_;  // 1, or -1 where angles are negated
  const ExactAngles* const exact_;
  const bool fractional_;
  bool can_advance_ = false;  // the split steps are there
  uint64_t position_ = 0;     // of the last row
  const uint64_t* steps_ = nullptr;
  HWY_ALIGN float cos_[internal::kRowPairs];
  HWY_ALIGN float sin_[internal::kRowPairs];
  HWY_ALIGN int32_t high_[internal::kRowPairs];
  HWY_ALIGN int32_t low_[internal::kRowPairs];
  HWY_ALIGN int32_t step_high_[internal::kRowPairs];
  HWY_ALIGN int32_t step_low_[internal::kRowPairs];
  HWY_ALIGN int32_t step_low_less_[internal::kRowPairs];
  HWY_ALIGN uint64_t buffer_[internal::kRowPairs];
};

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
