#include "hodometer/base/real.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>

namespace hodometer {
namespace {

// 300-bit MPFR values: another arithmetic, another library.
class Exact {
 public:
  Exact() { mpfr_init2(value, 300); }
  explicit Exact(Real x) : Exact() {
    mpfr_set_d(value, x.to_double(), MPFR_RNDN);
    mpfr_add_d(value, value, x.low(), MPFR_RNDN);
  }
  ~Exact() { mpfr_clear(value); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  mpfr_t value;
};

double relative_error(Real got, Exact& want) {
  Exact difference(got);
  mpfr_sub(difference.value, difference.value, want.value, MPFR_RNDN);
  if (!mpfr_zero_p(want.value)) mpfr_div(difference.value, difference.value, want.value, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.value, MPFR_RNDN));
}

constexpr double bound = 0x1p-98;

TEST(Real, ArithmeticKeepsAboutAHundredBits) {
  const Real samples[] = {1.0, Real(1.0) / 3.0, -pi, ln2 * 1e9, Real(1e-20) / 7.0, 12345.678};
  for (Real a : samples) {
    for (Real b : samples) {
      Exact x(a), y(b), want;
      mpfr_mul(want.value, x.value, y.value, MPFR_RNDN);
      EXPECT_LT(relative_error(a * b, want), bound);
      mpfr_div(want.value, x.value, y.value, MPFR_RNDN);
      EXPECT_LT(relative_error(a / b, want), bound);
      mpfr_add(want.value, x.value, y.value, MPFR_RNDN);
      EXPECT_LT(relative_error(a + b, want), bound);
    }
  }
}

TEST(Real, ConstantsAreRight) {
  Exact want;
  mpfr_const_pi(want.value, MPFR_RNDN);
  EXPECT_LT(relative_error(pi, want), 0x1p-104);
  mpfr_const_log2(want.value, MPFR_RNDN);
  EXPECT_LT(relative_error(ln2, want), 0x1p-104);
}

TEST(Real, ExpLogPow) {
  for (double x : {-40.0, -13.5, -1.0, -1e-9, 0.0, 1e-12, 0.1, 0.34657, 1.0, 2.75, 17.0, 300.0}) {
    Exact argument{Real(x)}, want;
    mpfr_exp(want.value, argument.value, MPFR_RNDN);
    EXPECT_LT(relative_error(exp(Real(x)), want), bound) << x;
  }
  for (double x : {1e-30, 0.5, 0.999999, 1.0, 1.0000001, 2.0, 1e4, 5e5, 1e7, 1e100}) {
    Exact argument{Real(x)}, want;
    mpfr_log(want.value, argument.value, MPFR_RNDN);
    const double size = std::fabs(mpfr_get_d(want.value, MPFR_RNDN));
    EXPECT_LE(relative_error(log(Real(x)), want) * std::min(size, 1.0), bound) << x;
  }
  for (double base : {100.0, 1e4, 5e5, 1e6, 1.2e7}) {
    for (int i = 0; i < 128; ++i) {
      const Real exponent = Real(-i) / 64.0;
      Exact b{Real(base)}, e{exponent}, want;
      mpfr_pow(want.value, b.value, e.value, MPFR_RNDN);
      EXPECT_LT(relative_error(pow(base, exponent), want), bound) << base << " " << i;
    }
  }
}

TEST(Real, FloorAndCeilSeeTheLowPart) {
  const Real above(3.0, 1e-20), below(3.0, -1e-20);
  EXPECT_EQ(floor(above).to_double(), 3.0);
  EXPECT_EQ(floor(below).to_double(), 2.0);
  EXPECT_EQ(ceil(above).to_double(), 4.0);
  EXPECT_EQ(ceil(below).to_double(), 3.0);
  EXPECT_EQ(floor(Real(-2.5)).to_double(), -3.0);
  EXPECT_EQ(ceil(Real(-2.5)).to_double(), -2.0);
}

TEST(Real, ComparisonsAndClamp) {
  EXPECT_LT(Real(1.0, -1e-20), Real(1.0));
  EXPECT_GT(Real(1.0, 1e-20), Real(1.0));
  EXPECT_EQ(clamp(2.0, 0.0, 1.0), Real(1.0));
  EXPECT_EQ(clamp(-2.0, 0.0, 1.0), Real(0.0));
  EXPECT_EQ(clamp(0.5, 0.0, 1.0), Real(0.5));
}

}  // namespace
}  // namespace hodometer
