#include "hodometer/kernels/make_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

std::vector<uint64_t> steps_of(int64_t pairs) {
  std::vector<uint64_t> steps;
  for (int64_t j = 0; j < pairs; ++j) steps.push_back(0x2000000000000001u / (1u + uint64_t(j)));
  return steps;
}

TEST(MakeTable, WritesEveryRowAndNothingBetween) {
  on_every_target([] {
    for (int64_t pairs : {1, 7, 8, 16, 17, 64, 256, 300, 513}) {
      const int64_t stride = pairs + 3, tokens = 5, first = 1000000;
      const std::vector<uint64_t> steps = steps_of(pairs);
      AngleRows rows;
      rows.tokens = tokens;
      rows.pairs = pairs;
      rows.angles = ExactAngles{steps.data(), nullptr};
      rows.positions = PositionRun{first};
      std::vector<float> cos(static_cast<size_t>(tokens * stride), 9.0f), sin = cos;
      make_table(rows, cos.data(), sin.data(), stride);
      for (int64_t i = 0; i < tokens; ++i) {
        for (int64_t j = 0; j < stride; ++j) {
          const auto at = static_cast<size_t>(i * stride + j);
          if (j >= pairs) {
            ASSERT_EQ(cos[at], 9.0f);
            ASSERT_EQ(sin[at], 9.0f);
            continue;
          }
          const uint64_t phase = static_cast<uint64_t>(first + i) * steps[static_cast<size_t>(j)];
          const double angle =
              std::ldexp(static_cast<double>(static_cast<int64_t>(phase)), -63) * 3.141592653589793;
          ASSERT_NEAR(static_cast<double>(cos[at]), std::cos(angle), 6e-8);
          ASSERT_NEAR(static_cast<double>(sin[at]), std::sin(angle), 6e-8);
        }
      }
    }
  });
}

TEST(MakeTable, NoTokensOrNoPairsIsNothing) {
  on_every_target([] {
    const std::vector<uint64_t> steps = steps_of(4);
    AngleRows rows;
    rows.pairs = 4;
    rows.angles = ExactAngles{steps.data(), nullptr};
    make_table(rows, nullptr, nullptr, 4);
    rows.tokens = 3;
    rows.pairs = 0;
    make_table(rows, nullptr, nullptr, 0);
  });
}

}  // namespace
}  // namespace hodometer
