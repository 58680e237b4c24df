#include "hodometer/kernels/add_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "hodometer/kernels/convert.h"
#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

struct Tokens {
  DType dtype;
  int64_t tokens, dim, stride;
  std::vector<std::byte> bytes;

  std::vector<float> values() const {
    std::vector<float> out(static_cast<size_t>(tokens * stride));
    to_float32(dtype, bytes.data(), out.data(), tokens * stride);
    return out;
  }
};

Tokens random_tokens(DType dtype, int64_t tokens, int64_t dim, unsigned seed) {
  Tokens t{dtype, tokens, dim, dim + 5, {}};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(t.tokens * t.stride));
  for (float& v : values) v = normal(random);
  t.bytes.resize(values.size() * static_cast<size_t>(dtype_size(dtype)));
  from_float32(dtype, values.data(), t.bytes.data(), t.tokens * t.stride);
  return t;
}

TokenBlock block_of(const Tokens& src, Tokens& dst) {
  return {src.dtype, src.tokens, src.dim, src.bytes.data(), src.stride, dst.bytes.data(),
          dst.stride};
}

// The float32 sum rounded to the dtype, by the conversion that has its own test.
float rounded(DType dtype, float value) {
  uint32_t bits = 0;
  float back = 0;
  from_float32(dtype, &value, &bits, 1);
  to_float32(dtype, &bits, &back, 1);
  return back;
}

TEST(AddTableRows, AddsTheRowOfEachTokensId) {
  const int64_t row_stride = 140;
  std::vector<float> table(static_cast<size_t>(11 * row_stride));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& v : table) v = normal(random);
  const std::vector<int64_t> ids = {10, 0, 3, 3};
  on_every_target([&] {
    for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      for (int64_t dim : {1, 2, 31, 64, 133}) {
        for (const int64_t* id : {ids.data(), static_cast<const int64_t*>(nullptr)}) {
          const Tokens in = random_tokens(dtype, 4, dim, 2);
          Tokens out = random_tokens(dtype, 4, dim, 3);
          const std::vector<float> x = in.values(), before = out.values();
          add_table_rows({table.data(), row_stride, id}, block_of(in, out));
          Tokens in_place = in;
          add_table_rows({table.data(), row_stride, id}, block_of(in_place, in_place));
          const std::vector<float> y = out.values(), z = in_place.values();
          for (int64_t i = 0; i < 4; ++i) {
            for (int64_t k = 0; k < in.stride; ++k) {
              const auto at = static_cast<size_t>(i * in.stride + k);
              if (k >= dim) {
                ASSERT_EQ(y[at], before[at]);
                ASSERT_EQ(z[at], x[at]);
                continue;
              }
              const int64_t row = id == nullptr ? i : id[i];
              const float sum = x[at] + table[static_cast<size_t>(row * row_stride + k)];
              ASSERT_EQ(y[at], rounded(dtype, sum));
              ASSERT_EQ(z[at], y[at]);
            }
          }
        }
      }
    }
  });
}

TEST(AddSinusoidRows, PutsSinesAndCosinesIntoTheirLanes) {
  on_every_target([] {
    for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      for (int64_t dim : {2, 8, 9, 66, 127, 512, 1030}) {
        const int64_t pairs = dim / 2;
        std::vector<uint64_t> steps;
        for (int64_t j = 0; j < pairs; ++j) steps.push_back(0x28BE60DB9391054Bu / (1u + 3u * uint64_t(j)));
        for (const SinusoidColumns& lanes :
             {SinusoidColumns{0, pairs, 1}, SinusoidColumns{pairs, 0, 1}, SinusoidColumns{0, 1, 2},
              SinusoidColumns{1, 0, 2}}) {
          AngleRows rows;
          rows.tokens = 3;
          rows.pairs = pairs;
          rows.angles = ExactAngles{steps.data(), nullptr};
          rows.positions = PositionRun{131071};
          const Tokens in = random_tokens(dtype, 3, dim, 4);
          Tokens out = random_tokens(dtype, 3, dim, 5);
          Tokens in_place = in;
          const std::vector<float> before = out.values();
          add_sinusoid_rows(rows, lanes, block_of(in, out));
          add_sinusoid_rows(rows, lanes, block_of(in_place, in_place));
          const std::vector<float> x = in.values(), y = out.values(), z = in_place.values();
          for (int64_t i = 0; i < 3; ++i) {
            std::vector<double> row(static_cast<size_t>(in.stride), 0.0);
            for (int64_t j = 0; j < pairs; ++j) {
              const uint64_t phase = static_cast<uint64_t>(131071 + i) * steps[static_cast<size_t>(j)];
              const double angle = std::ldexp(static_cast<double>(static_cast<int64_t>(phase)), -63) *
                                   3.141592653589793;
              row[static_cast<size_t>(lanes.sin_first + j * lanes.lane_stride)] = std::sin(angle);
              row[static_cast<size_t>(lanes.cos_first + j * lanes.lane_stride)] = std::cos(angle);
            }
            for (int64_t k = 0; k < in.stride; ++k) {
              const auto at = static_cast<size_t>(i * in.stride + k);
              ASSERT_EQ(z[at], k < dim ? y[at] : x[at]);
              if (k >= dim) {
                ASSERT_EQ(y[at], before[at]);
                continue;
              }
              const double sum = static_cast<double>(x[at]) + row[static_cast<size_t>(k)];
              const int bits = dtype == DType::float32 ? 24 : dtype == DType::bfloat16 ? 8 : 11;
              ASSERT_NEAR(static_cast<double>(y[at]), sum,
                          std::ldexp(std::fabs(sum), -bits) + 3e-7)
                  << "dim " << dim << " lane " << k;
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace hodometer
