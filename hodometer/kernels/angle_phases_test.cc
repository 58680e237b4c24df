// The accuracy of every row of cosines and sines, measured through make_table.

#include "hodometer/kernels/angle_phases.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "hodometer/kernels/every_target_test.h"
#include "hodometer/kernels/make_table.h"

namespace hodometer {
namespace {

struct Table {
  std::vector<float> cos, sin;
};

Table table_of(const AngleRows& rows) {
  const auto size = static_cast<size_t>(rows.tokens * rows.pairs);
  Table table{std::vector<float>(size), std::vector<float>(size)};
  make_table(rows, table.cos.data(), table.sin.data(), rows.pairs);
  return table;
}

struct Angle {
  long double cos, sin;
};

// The phase as an angle in (-pi, pi], by the C library in 80-bit precision.
Angle angle_of_phase(uint64_t phase) {
  const long double pi = 3.14159265358979323846264338327950288L;
  const long double angle =
      std::ldexp(static_cast<long double>(static_cast<int64_t>(phase)), -63) * pi;
  return {std::cos(angle), std::sin(angle)};
}

double ulp(long double exact) {
  const auto f = static_cast<float>(std::fabs(exact));
  return static_cast<double>(std::nextafter(f, 2.0f)) - static_cast<double>(f);
}

// Phases made by steps at position 1: the table's row is then of the steps themselves.
AngleRows rows_of_phases(const std::vector<uint64_t>& phases) {
  AngleRows rows;
  rows.tokens = 1;
  rows.pairs = static_cast<int64_t>(phases.size());
  rows.angles = ExactAngles{phases.data(), nullptr};
  rows.positions = PositionRun{1};
  return rows;
}

double worst_error(const std::vector<uint64_t>& phases, const std::vector<Angle>& exact,
                   float magnitude) {
  AngleRows rows = rows_of_phases(phases);
  rows.magnitude = magnitude;
  const Table table = table_of(rows);
  long double worst = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    worst = std::max(worst, std::fabs(exact[i].cos * magnitude - table.cos[i]));
    worst = std::max(worst, std::fabs(exact[i].sin * magnitude - table.sin[i]));
  }
  return static_cast<double>(worst / magnitude);
}

std::vector<uint64_t> sweep() {
  std::vector<uint64_t> phases;
  const uint64_t stride = 0x9E3779B97F4A7C15u;  // every part of the turn, no low bit special
  for (uint64_t i = 0; i < (1u << 19); ++i) phases.push_back(i << 45);
  for (uint64_t i = 0; i < (1u << 19); ++i) phases.push_back(i * stride);
  for (int eighth = 0; eighth < 8; ++eighth) {  // both sides of every octant's edge
    for (int64_t i = -2000; i <= 2000; ++i) {
      for (int shift : {0, 20, 31, 32, 33, 40}) {
        phases.push_back((uint64_t(eighth) << 61) + (static_cast<uint64_t>(i) << shift));
      }
    }
  }
  return phases;
}

TEST(AngleRows, EveryPhaseIsWithinTheBound) {
  const std::vector<uint64_t> phases = sweep();
  std::vector<Angle> exact;
  for (uint64_t phase : phases) exact.push_back(angle_of_phase(phase));
  on_every_target([&] {
    const double worst = worst_error(phases, exact, 1.0f);
    EXPECT_LE(worst, 6e-8);
    RecordProperty(std::string(target_name()), std::to_string(worst * 1e8));
    EXPECT_LE(worst_error(phases, exact, 0.5f), 6e-8);
    for (float magnitude : {1.1902381f, 1.3465736f, 0.8333333f, 1.9999999f}) {
      // Half an ulp of the largest result more.
      EXPECT_LE(worst_error(phases, exact, magnitude) * magnitude,
                6e-8 * magnitude + ulp(magnitude) / 2)
          << magnitude;
    }
  });
}

TEST(AngleRows, SmallAnglesKeepTheirBits) {
  std::vector<uint64_t> phases;
  std::mt19937_64 random(3);
  for (int bits = 26; bits < 58; ++bits) {
    for (int i = 0; i < 4000; ++i) {
      const uint64_t phase = (uint64_t{1} << bits) | (random() >> (64 - bits));
      phases.push_back(phase);
      phases.push_back(0 - phase);
    }
  }
  on_every_target([&] {
    const Table table = table_of(rows_of_phases(phases));
    double worst = 0;
    for (size_t i = 0; i < phases.size(); ++i) {
      const long double exact = angle_of_phase(phases[i]).sin;
      worst = std::max(worst, static_cast<double>(std::fabs(exact - table.sin[i])) / ulp(exact));
    }
    EXPECT_LE(worst, 2.0);
    RecordProperty(std::string(target_name()), std::to_string(worst));
  });
}

TEST(AngleRows, QuartersOfATurnAreExact) {
  const std::vector<uint64_t> phases = {0, uint64_t{1} << 62, uint64_t{2} << 62, uint64_t{3} << 62};
  on_every_target([&] {
    const Table table = table_of(rows_of_phases(phases));
    EXPECT_EQ(table.cos, (std::vector<float>{1, 0, -1, 0}));
    EXPECT_EQ(table.sin, (std::vector<float>{0, 1, 0, -1}));
  });
}

// inv_freq / (2 pi) * 2^64 of base^(-2j/dim), by MPFR.
struct Frequencies {
  std::vector<uint64_t> steps;
  std::vector<double> turns;
  std::vector<float> inv_freq;
};

class Mpfr {
 public:
  Mpfr() { mpfr_init2(x, 256); }
  ~Mpfr() { mpfr_clear(x); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  mpfr_t x;
};

// base^(-2j/dim) into w.
void inverse_frequency(Mpfr& w, double base, int64_t j, int64_t dim) {
  Mpfr exponent;
  mpfr_set_d(w.x, base, MPFR_RNDN);
  mpfr_set_si(exponent.x, -2 * j, MPFR_RNDN);
  mpfr_div_si(exponent.x, exponent.x, dim, MPFR_RNDN);
  mpfr_pow(w.x, w.x, exponent.x, MPFR_RNDN);
}

Frequencies frequencies(double base, int64_t pairs) {
  Frequencies out;
  for (int64_t j = 0; j < pairs; ++j) {
    Mpfr w, pi;
    inverse_frequency(w, base, j, 2 * pairs);
    out.inv_freq.push_back(mpfr_get_flt(w.x, MPFR_RNDN));
    mpfr_const_pi(pi.x, MPFR_RNDN);
    mpfr_div(w.x, w.x, pi.x, MPFR_RNDN);
    mpfr_div_2ui(w.x, w.x, 1, MPFR_RNDN);
    out.turns.push_back(mpfr_get_d(w.x, MPFR_RNDN));
    mpfr_mul_2ui(w.x, w.x, 64, MPFR_RNDN);
    mpfr_rint(w.x, w.x, MPFR_RNDN);
    out.steps.push_back(mpfr_get_uj(w.x, MPFR_RNDN));
  }
  return out;
}

// cos and sin of position * base^(-2j/dim), to double.
Angle angle_of_position(double position, double base, int64_t j, int64_t pairs) {
  Mpfr w, c, s;
  inverse_frequency(w, base, j, 2 * pairs);
  mpfr_mul_d(w.x, w.x, position, MPFR_RNDN);
  mpfr_sin_cos(s.x, c.x, w.x, MPFR_RNDN);
  return {mpfr_get_ld(c.x, MPFR_RNDN), mpfr_get_ld(s.x, MPFR_RNDN)};
}

const int64_t kPositions[] = {0,       1,        2,          255,        256,   257,
                              2047,    2048,     2049,       4095,       4096,  4097,
                              32767,   32768,    65535,      65536,      65537, 131071,
                              1048575, 16777217, 2147483646, 2147483647, -1,    -4097};

TEST(AngleRows, PositionsAgreeWithMpfrForEveryBase) {
  for (double base : {100.0, 10000.0, 500000.0, 5e6}) {
    const int64_t pairs = 40;
    const Frequencies f = frequencies(base, pairs);
    AngleRows rows;
    rows.tokens = std::size(kPositions);
    rows.pairs = pairs;
    rows.angles = ExactAngles{f.steps.data(), f.turns.data()};
    rows.positions = PositionList{kPositions};
    std::vector<Angle> exact;
    for (int64_t position : kPositions) {
      for (int64_t j = 0; j < pairs; ++j) {
        exact.push_back(angle_of_position(static_cast<double>(position), base, j, pairs));
      }
    }
    on_every_target([&] {
      const Table table = table_of(rows);
      for (size_t i = 0; i < exact.size(); ++i) {
        ASSERT_NEAR(table.cos[i], static_cast<double>(exact[i].cos), 6e-8) << i;
        ASSERT_NEAR(table.sin[i], static_cast<double>(exact[i].sin), 6e-8) << i;
      }
    });
  }
}

TEST(AngleRows, FractionalPositionsAgreeWithMpfr) {
  const int64_t pairs = 33;
  const double base = 100.0;
  const Frequencies f = frequencies(base, pairs);
  const std::vector<double> positions = {0.5, -0.5, 0.99609375, 1e-3, 3.7, -1023.25, 65535.125};
  AngleRows rows;
  rows.tokens = static_cast<int64_t>(positions.size());
  rows.pairs = pairs;
  rows.angles = ExactAngles{nullptr, f.turns.data()};
  rows.positions = FractionalList{positions.data()};
  on_every_target([&] {
    const Table table = table_of(rows);
    for (size_t t = 0; t < positions.size(); ++t) {
      for (int64_t j = 0; j < pairs; ++j) {
        const Angle exact = angle_of_position(positions[t], base, j, pairs);
        const size_t i = t * static_cast<size_t>(pairs) + static_cast<size_t>(j);
        ASSERT_NEAR(table.cos[i], static_cast<double>(exact.cos), 6e-8);
        ASSERT_NEAR(table.sin[i], static_cast<double>(exact.sin), 6e-8);
      }
    }
  });
}

// A run's rows come by addition from the row before, a list's by multiplication.
TEST(AngleRows, ARunIsBitForBitTheListOfItsPositions) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> steps(37);
  for (uint64_t& step : steps) step = random() >> (random() % 60);
  for (int64_t first : {int64_t{0}, int64_t{-5}, int64_t{2147483640}, int64_t{1} << 40}) {
    std::vector<int64_t> shuffled(50);
    for (int64_t i = 0; i < 50; ++i) shuffled[static_cast<size_t>(i)] = first + (i * 7) % 50;
    AngleRows run;
    run.tokens = 50;
    run.pairs = 37;
    run.angles = ExactAngles{steps.data(), nullptr};
    run.positions = PositionRun{first};
    AngleRows list = run;
    list.positions = PositionList{shuffled.data()};
    on_every_target([&] {
      const Table a = table_of(run), b = table_of(list);
      for (int64_t i = 0; i < 50; ++i) {
        for (int64_t j = 0; j < 37; ++j) {
          const auto in_run = static_cast<size_t>((i * 7) % 50 * 37 + j);
          const auto in_list = static_cast<size_t>(i * 37 + j);
          ASSERT_EQ(a.cos[in_run], b.cos[in_list]);
          ASSERT_EQ(a.sin[in_run], b.sin[in_list]);
        }
      }
    });
  }
}

TEST(AngleRows, EachPairFollowsItsAxis) {
  const Frequencies f = frequencies(10000.0, 11);
  const std::vector<uint8_t> axes = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0};
  // [axis, token], as the position ids of a vision model come.
  const std::vector<int64_t> ids = {7, 8, 9, 9, 100, 100, 101, 101, 5, 6, 5, 6};
  AngleRows rows;
  rows.tokens = 4;
  rows.pairs = 11;
  rows.angles = ExactAngles{f.steps.data(), nullptr};
  rows.positions = PositionList{ids.data(), 1, 4};
  rows.axes = axes.data();
  on_every_target([&] {
    const Table table = table_of(rows);
    for (size_t t = 0; t < 4; ++t) {
      for (size_t j = 0; j < 11; ++j) {
        const auto position = static_cast<uint64_t>(ids[axes[j] * 4u + t]);
        const Angle exact = angle_of_phase(position * f.steps[j]);
        ASSERT_NEAR(table.cos[t * 11 + j], static_cast<double>(exact.cos), 6e-8);
        ASSERT_NEAR(table.sin[t * 11 + j], static_cast<double>(exact.sin), 6e-8);
      }
    }
  });
}

TEST(AngleRows, Float32AnglesAreTheProductOfFloats) {
  const Frequencies f = frequencies(10000.0, 20);
  const int64_t positions[] = {0, 1, 4095, 131071, 16777217};
  AngleRows rows;
  rows.tokens = 5;
  rows.pairs = 20;
  rows.angles = Float32Angles{f.inv_freq.data()};
  rows.positions = PositionList{positions};
  rows.magnitude = 1.25f;
  on_every_target([&] {
    const Table table = table_of(rows);
    for (size_t t = 0; t < 5; ++t) {
      for (size_t j = 0; j < 20; ++j) {
        Mpfr x, c, s;  // of the rounded product, itself rounded by MPFR
        mpfr_set_prec(x.x, 24);
        mpfr_set_si(x.x, positions[t], MPFR_RNDN);
        mpfr_mul_d(x.x, x.x, static_cast<double>(f.inv_freq[j]), MPFR_RNDN);
        mpfr_sin_cos(s.x, c.x, x.x, MPFR_RNDN);
        ASSERT_EQ(table.cos[t * 20 + j], mpfr_get_flt(c.x, MPFR_RNDN) * 1.25f) << t << " " << j;
        ASSERT_EQ(table.sin[t * 20 + j], mpfr_get_flt(s.x, MPFR_RNDN) * 1.25f) << t << " " << j;
      }
    }
  });
}

TEST(AngleRows, DecayMultipliesBothRows) {
  const Frequencies f = frequencies(10000.0, 9);
  std::vector<float> decay(3 * 10, 0.0f);
  for (size_t i = 0; i < decay.size(); ++i) decay[i] = 0.5f + 0.03f * static_cast<float>(i);
  AngleRows rows;
  rows.tokens = 3;
  rows.pairs = 9;
  rows.angles = ExactAngles{f.steps.data(), nullptr};
  rows.positions = PositionRun{4097};
  AngleRows with = rows;
  with.decay = decay.data();
  with.decay_stride = 10;
  on_every_target([&] {
    const Table plain = table_of(rows), decayed = table_of(with);
    for (size_t t = 0; t < 3; ++t) {
      for (size_t j = 0; j < 9; ++j) {
        EXPECT_EQ(decayed.cos[t * 9 + j], plain.cos[t * 9 + j] * decay[t * 10 + j]);
        EXPECT_EQ(decayed.sin[t * 9 + j], plain.sin[t * 9 + j] * decay[t * 10 + j]);
      }
    }
  });
}

}  // namespace
}  // namespace hodometer
