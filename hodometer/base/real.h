#pragma once

namespace hodometer {

/// A real number as an unevaluated sum of two doubles: about 106 bits.
///
/// An inverse frequency is multiplied by positions up to 2^31 before it is reduced to one turn, so
/// the 53 bits of a double would leave an error of 1e-7 radians there. The mathematics of methods
/// and schedules is therefore written in Real and reads like the papers. Each operation below is
/// accurate to about 2^-98 relative for results between 1e-200 and 1e200.
///
/// Source: Dekker 1971; Hida, Li and Bailey 2001 (double-double arithmetic).
class Real {
 public:
  constexpr Real() = default;
  constexpr Real(double value) : high_(value) {}  // NOLINT: implicit, a double is a real number
  constexpr Real(double high, double low) : high_(high), low_(low) {}

  /// The nearest double.
  constexpr double to_double() const { return high_; }
  /// What to_double() leaves out.
  constexpr double low() const { return low_; }

  friend Real operator+(Real a, Real b);
  friend Real operator-(Real a, Real b);
  friend Real operator*(Real a, Real b);
  friend Real operator/(Real a, Real b);
  friend constexpr Real operator-(Real a) { return {-a.high_, -a.low_}; }
  friend constexpr bool operator==(Real a, Real b) {
    return a.high_ == b.high_ && a.low_ == b.low_;
  }
  friend constexpr bool operator<(Real a, Real b) {
    return a.high_ < b.high_ || (a.high_ == b.high_ && a.low_ < b.low_);
  }
  friend constexpr bool operator>(Real a, Real b) { return b < a; }
  friend constexpr bool operator<=(Real a, Real b) { return !(b < a); }
  friend constexpr bool operator>=(Real a, Real b) { return !(a < b); }

 private:
  double high_ = 0;
  double low_ = 0;
};

Real operator+(Real a, Real b);
Real operator-(Real a, Real b);
Real operator*(Real a, Real b);
Real operator/(Real a, Real b);

Real exp(Real x);
/// Natural logarithm; x > 0. Accurate to about 2^-98 of max(1, |log x|).
Real log(Real x);
/// base^exponent for base > 0.
Real pow(Real base, Real exponent);
Real floor(Real x);
Real ceil(Real x);
/// min(max(x, low), high).
Real clamp(Real x, Real low, Real high);

inline constexpr Real pi{3.141592653589793116, 1.2246467991473532072e-16};
inline constexpr Real ln2{0.69314718055994528623, 2.3190468138462995584e-17};

}  // namespace hodometer
