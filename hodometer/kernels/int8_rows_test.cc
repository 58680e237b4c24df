#include "hodometer/kernels/int8_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

/// As the header says, one lane at a time.
float scalar_row(const std::vector<float>& row, std::vector<int8_t>& integers) {
  float largest = 0;
  for (const float lane : row) largest = std::max(largest, std::abs(lane));
  const float factor = 127 / largest;
  for (size_t i = 0; i < row.size(); ++i) {
    integers[i] = static_cast<int8_t>(std::nearbyint(row[i] * factor));
  }
  return largest / 127;
}

std::vector<float> random_rows(int64_t count, int exponent) {
  std::mt19937 random(3);
  std::vector<float> rows(static_cast<size_t>(count));
  for (float& lane : rows) {
    lane = std::ldexp(static_cast<float>(static_cast<int32_t>(random())), exponent - 31);
  }
  return rows;
}

TEST(Int8Rows, ComeBackWithinTheBound) {
  constexpr int64_t count = 50, lanes = 137;
  for (const int exponent : {0, -100, 126}) {
    const std::vector<float> rows = random_rows(count * lanes, exponent);
    std::vector<int8_t> integers(rows.size());
    std::vector<float> scales(count), back(rows.size());
    on_every_target([&] {
      to_int8_rows(rows.data(), count, lanes, integers.data(), scales.data());
      from_int8_rows(integers.data(), scales.data(), count, lanes, back.data());
      for (int64_t i = 0; i < count; ++i) {
        const auto begin = rows.begin() + i * lanes;
        const std::vector<float> row(begin, begin + lanes);
        std::vector<int8_t> expected(row.size());
        ASSERT_EQ(scales[static_cast<size_t>(i)], scalar_row(row, expected));
        const double largest = 127 * static_cast<double>(scales[static_cast<size_t>(i)]);
        for (size_t lane = 0; lane < row.size(); ++lane) {
          const size_t at = static_cast<size_t>(i * lanes) + lane;
          ASSERT_EQ(integers[at], expected[lane]);
          ASSERT_LE(std::abs(static_cast<double>(back[at]) - static_cast<double>(row[lane])),
                    1.0001 * largest / 254);
        }
      }
    });
  }
}

TEST(Int8Rows, TiesGoToEven) {
  const std::vector<float> row{127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, -126.5f, -127};
  std::vector<int8_t> integers(row.size());
  float scale = 0;
  on_every_target([&] {
    to_int8_rows(row.data(), 1, static_cast<int64_t>(row.size()), integers.data(), &scale);
    EXPECT_EQ(scale, 1);
    EXPECT_EQ(integers, (std::vector<int8_t>{127, 0, 2, 2, 0, -2, -2, 126, -126, -127}));
  });
}

TEST(Int8Rows, EveryIntegerHasItsValue) {
  std::vector<int8_t> integers;
  for (int i = -128; i <= 127; ++i) integers.push_back(static_cast<int8_t>(i));
  const std::vector<float> scales(1, 0.25f);
  std::vector<float> row(integers.size());
  on_every_target([&] {
    from_int8_rows(integers.data(), scales.data(), 1, 256, row.data());
    for (size_t i = 0; i < row.size(); ++i) {
      EXPECT_EQ(row[i], 0.25f * static_cast<float>(integers[i]));
    }
  });
}

// The lane that counts at every place of rows of every length, with nothing touched beside them.
TEST(Int8Rows, EveryLengthStaysInside) {
  on_every_target([] {
    for (int64_t lanes = 1; lanes < 70; ++lanes) {
      for (int64_t place = 0; place < lanes; ++place) {
        std::vector<float> row(80, 1e30f), back(80, -7);
        std::vector<int8_t> integers(80, 99);
        std::fill_n(row.begin() + 1, lanes, 1.0f);
        row[static_cast<size_t>(place + 1)] = -127;
        float scale = 0;
        to_int8_rows(row.data() + 1, 1, lanes, integers.data() + 1, &scale);
        from_int8_rows(integers.data() + 1, &scale, 1, lanes, back.data() + 1);
        ASSERT_EQ(scale, 1);
        for (int64_t i = 0; i < 80; ++i) {
          const bool inside = i >= 1 && i < 1 + lanes;
          const int expected = !inside ? 99 : i == place + 1 ? -127 : 1;
          ASSERT_EQ(integers[static_cast<size_t>(i)], expected);
          ASSERT_EQ(back[static_cast<size_t>(i)], inside ? static_cast<float>(expected) : -7);
        }
      }
    }
  });
}

TEST(Int8Rows, RowsWithoutAScale) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr int64_t lanes = 37;
  on_every_target([&] {
    for (int64_t place = 0; place < lanes; ++place) {
      for (const float odd : {nan, -nan, infinity, -infinity, 9e-37f, 1e-45f, 0.0f, -0.0f}) {
        std::vector<float> row(lanes, std::abs(odd) < 1 ? 0.0f : 1.0f), back(lanes);
        row[static_cast<size_t>(place)] = odd;
        std::vector<int8_t> integers(lanes, 99);
        float scale = 5;
        to_int8_rows(row.data(), 1, lanes, integers.data(), &scale);
        from_int8_rows(integers.data(), &scale, 1, lanes, back.data());
        for (const float lane : back) {
          if (std::isfinite(odd)) {
            ASSERT_EQ(lane, 0);
          } else {
            ASSERT_TRUE(std::isnan(lane));
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace hodometer
