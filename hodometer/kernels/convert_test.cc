#include "hodometer/kernels/convert.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

// What an element type is: mantissa bits that are stored and the bias of the exponent.
struct Format {
  DType dtype;
  int mantissa_bits;
  int bias;
};
const Format kFormats[] = {{DType::bfloat16, 7, 127}, {DType::float16, 10, 15}};

// The value of a bit pattern by the definition of the format.
double value_of(const Format& format, uint32_t bits) {
  const int exponent_bits = 15 - format.mantissa_bits;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << format.mantissa_bits) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  const int scale = 1 - format.bias - format.mantissa_bits;
  if (exponent == 0) return sign * std::ldexp(mantissa, scale);
  return sign * std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - 1 + scale);
}

// The nearest value of the format, ties to even, by MPFR; its subnormals have fewer bits.
double nearest(const Format& format, float value) {
  if (std::isnan(value) || std::isinf(value) || value == 0) return static_cast<double>(value);
  mpfr_t x;
  mpfr_init2(x, format.mantissa_bits + 1);
  mpfr_set_emin(1 - format.bias - format.mantissa_bits + 1);
  mpfr_set_emax(format.bias + 1);
  const int inexact = mpfr_set_flt(x, value, MPFR_RNDN);
  mpfr_subnormalize(x, mpfr_check_range(x, inexact, MPFR_RNDN), MPFR_RNDN);
  const double result = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  return result;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(Convert, EveryBitPatternHasItsValueAndComesBack) {
  std::vector<uint16_t> bits(65536), back(65536);
  for (uint32_t i = 0; i < 65536; ++i) bits[i] = static_cast<uint16_t>(i);
  std::vector<float> values(65536);
  on_every_target([&] {
    for (const Format& format : kFormats) {
      SCOPED_TRACE(dtype_name(format.dtype));
      to_float32(format.dtype, bits.data(), values.data(), 65536);
      from_float32(format.dtype, values.data(), back.data(), 65536);
      int wrong = 0;
      for (uint32_t i = 0; i < 65536; ++i) {
        const double value = value_of(format, i);
        wrong += !same(static_cast<double>(values[i]), value);
        wrong += std::isnan(value) ? !std::isnan(value_of(format, back[i])) : back[i] != bits[i];
      }
      EXPECT_EQ(wrong, 0);
    }
  });
}

TEST(Convert, RoundsToNearestEven) {
  std::mt19937 random(1);
  std::vector<float> values;
  for (int i = 0; i < 60000; ++i) values.push_back(std::bit_cast<float>(uint32_t(random())));
  for (int i = 0; i < 60000; ++i) {  // near float16's range
    values.push_back(std::ldexp(static_cast<float>(static_cast<int32_t>(random())),
                                static_cast<int>(random() % 50) - 62));
  }
  for (const Format& format : kFormats) {
    // Halfway between neighbours, and a float32 ulp to either side.
    for (uint32_t i = 0; i < 65535; i += 3) {
      const double a = value_of(format, i), b = value_of(format, i + 1);
      if (!std::isfinite(a) || !std::isfinite(b)) continue;
      const float tie = static_cast<float>((a + b) / 2);
      for (float v : {tie, std::nextafter(tie, 1e38f), std::nextafter(tie, -1e38f)}) {
        values.push_back(v);
      }
    }
  }
  for (float v : {65504.0f, 65519.996f, 65520.0f, 65536.0f, 3.3895314e38f, 3.4028235e38f,
                  std::numeric_limits<float>::infinity(), 0.0f, 2.98e-8f, 2.9802322e-8f, 5.96e-8f,
                  1e-45f, 5e-41f, std::bit_cast<float>(0x7F800001u),
                  std::bit_cast<float>(0x7FFFFFFFu), std::bit_cast<float>(0x7FC00000u)}) {
    values.push_back(v);
    values.push_back(-v);
  }
  std::vector<uint16_t> bits(values.size());
  for (const Format& format : kFormats) {
    std::vector<double> expected;
    for (float v : values) expected.push_back(nearest(format, v));
    on_every_target([&] {
      SCOPED_TRACE(dtype_name(format.dtype));
      from_float32(format.dtype, values.data(), bits.data(), static_cast<int64_t>(values.size()));
      int wrong = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        if (!same(value_of(format, bits[i]), expected[i]) && wrong++ < 5) {
          ADD_FAILURE() << values[i] << " became " << value_of(format, bits[i]) << ", expected "
                        << expected[i];
        }
      }
      EXPECT_EQ(wrong, 0);
    });
  }
}

TEST(Convert, EveryLengthAndAlignmentStaysInside) {
  on_every_target([] {
    for (int64_t count = 0; count < 70; ++count) {
      for (int64_t offset = 0; offset < 3; ++offset) {
        std::vector<float> in(80, 1.5f), out(80, -7.0f);
        std::vector<uint16_t> half(80, 0xABCD);
        from_float32(DType::float16, in.data() + offset, half.data() + offset, count);
        to_float32(DType::float16, half.data() + offset, out.data() + offset, count);
        for (int64_t i = 0; i < 80; ++i) {
          const bool inside = i >= offset && i < offset + count;
          ASSERT_EQ(half[static_cast<size_t>(i)], inside ? 0x3E00 : 0xABCD);
          ASSERT_EQ(out[static_cast<size_t>(i)], inside ? 1.5f : -7.0f);
        }
      }
    }
  });
}

TEST(Convert, Float32IsCopied) {
  const std::vector<float> in = {1.0f, -0.0f, 1e-45f, 3.4e38f, 0.1f};
  std::vector<float> out(5);
  on_every_target([&] {
    to_float32(DType::float32, in.data(), out.data(), 5);
    EXPECT_EQ(std::memcmp(in.data(), out.data(), 20), 0);
    from_float32(DType::float32, in.data(), out.data(), 5);
    EXPECT_EQ(std::memcmp(in.data(), out.data(), 20), 0);
  });
}

}  // namespace
}  // namespace hodometer
