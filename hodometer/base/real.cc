#include "hodometer/base/real.h"

#include <cmath>

namespace hodometer {
namespace {

// The rounding error of a + b is itself a double (Knuth).
Real two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// The same when |a| >= |b|.
Real quick_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

Real two_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

}  // namespace

Real operator+(Real a, Real b) {
  Real high = two_sum(a.to_double(), b.to_double());
  const Real low = two_sum(a.low(), b.low());
  high = quick_two_sum(high.to_double(), high.low() + low.to_double());
  return quick_two_sum(high.to_double(), high.low() + low.low());
}

Real operator-(Real a, Real b) { return a + (-b); }

Real operator*(Real a, Real b) {
  const Real product = two_product(a.to_double(), b.to_double());
  return quick_two_sum(product.to_double(),
                       product.low() + (a.to_double() * b.low() + a.low() * b.to_double()));
}

Real operator/(Real a, Real b) {
  // Long division, one double of quotient at a time.
  const double first = a.to_double() / b.to_double();
  Real rest = a - b * first;
  const double second = rest.to_double() / b.to_double();
  rest = rest - b * second;
  const double third = rest.to_double() / b.to_double();
  return quick_two_sum(first, second) + third;
}

Real exp(Real x) {
  if (x.to_double() == 0) return 1.0;
  if (!(std::abs(x.to_double()) <= 709.0)) return std::exp(x.to_double());  // NaN, too
  // exp(x) = 2^k * exp(r / 2^9)^(2^9) with |r| <= ln2 / 2: nine terms of Taylor's series suffice.
  constexpr int squarings = 9;
  const double k = std::nearbyint(x.to_double() / ln2.to_double());
  const Real reduced = (x - ln2 * k) * std::ldexp(1.0, -squarings);
  Real term = reduced;
  Real sum = reduced;
  for (int n = 2; n <= 10; ++n) {
    term = term * reduced / static_cast<double>(n);
    sum = sum + term;
  }
  // Squaring exp - 1 rather than exp keeps the small part's digits.
  for (int n = 0; n < squarings; ++n) sum = sum * 2.0 + sum * sum;
  sum = sum + 1.0;
  return {std::ldexp(sum.to_double(), static_cast<int>(k)),
          std::ldexp(sum.low(), static_cast<int>(k))};
}

Real log(Real x) {
  if (x == Real(1.0)) return 0.0;
  // Each Newton step on exp(y) = x doubles the digits of the double-precision start.
  Real y = std::log(x.to_double());
  y = y + (x * exp(-y) - 1.0);
  return y + (x * exp(-y) - 1.0);
}

Real pow(Real base, Real exponent) { return exp(exponent * log(base)); }

Real floor(Real x) {
  const double high = std::floor(x.to_double());
  if (high != x.to_double()) return high;
  return Real(high) + std::floor(x.low());
}

Real ceil(Real x) { return -floor(-x); }

Real clamp(Real x, Real low, Real high) { return x < low ? low : (x > high ? high : x); }

}  // namespace hodometer
