#include "hodometer/plan/phase.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <numbers>

namespace hodometer {
namespace {

// The distance between step * position and base^(-2i/d) * position / 2 pi, modulo one turn, in
// turns, in 400-bit arithmetic.
double phase_error(double base, int i, int d, uint64_t position) {
  mpfr_t angle, turn, exponent;
  mpfr_inits2(400, angle, turn, exponent, nullptr);
  mpfr_set_d(angle, base, MPFR_RNDN);
  mpfr_set_si(exponent, -2 * i, MPFR_RNDN);
  mpfr_div_si(exponent, exponent, d, MPFR_RNDN);
  mpfr_pow(angle, angle, exponent, MPFR_RNDN);
  mpfr_mul_ui(angle, angle, position, MPFR_RNDN);
  mpfr_const_pi(turn, MPFR_RNDN);
  mpfr_mul_ui(turn, turn, 2, MPFR_RNDN);
  mpfr_div(angle, angle, turn, MPFR_RNDN);
  const Real inv_freq = pow(base, Real(-2 * i) / static_cast<double>(d));
  const uint64_t phase = position * phase_step(inv_freq);
  mpfr_set_uj(turn, phase, MPFR_RNDN);
  mpfr_div_2ui(turn, turn, 64, MPFR_RNDN);
  mpfr_sub(angle, angle, turn, MPFR_RNDN);
  mpfr_rint(turn, angle, MPFR_RNDN);
  mpfr_sub(angle, angle, turn, MPFR_RNDN);
  const double error = std::fabs(mpfr_get_d(angle, MPFR_RNDN));
  mpfr_clears(angle, turn, exponent, nullptr);
  return error;
}

TEST(Phase, ExactAtEveryPositionBelowTwoToThe31) {
  for (double base : {100.0, 1e4, 5e5, 1e6, 1e7}) {
    for (int d : {2, 64, 128, 256}) {
      for (int i : {0, 1, d / 4, d / 2 - 1}) {
        for (uint64_t position : {1ull, 257ull, 131071ull, 1048575ull, (1ull << 31) - 1}) {
          EXPECT_LT(phase_error(base, i, d, position), 0x1p-34) << base << " " << i << "/" << d;
        }
      }
    }
  }
}

TEST(Phase, NegativeFrequenciesTurnTheOtherWay) {
  const Real w = Real(1.0) / 3.0;
  EXPECT_EQ(phase_step(w) + phase_step(-w), 0u);
  EXPECT_EQ(phase_step(0.0), 0u);
}

TEST(Phase, WholeTurnsVanish) {
  const Real turn = pi * 2.0;
  EXPECT_EQ(phase_step(turn * 0.25), uint64_t{1} << 62);
  EXPECT_EQ(phase_step(turn * 3.25), uint64_t{1} << 62);
}

}  // namespace
}  // namespace hodometer
