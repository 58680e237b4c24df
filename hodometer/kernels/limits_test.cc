#include "hodometer/kernels/limits.h"

#include <gtest/gtest.h>

#include <vector>

#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

TEST(Limits, LoopsTouchEveryElementOnce) {
  on_every_target([] {
    for (int64_t count : {0, 1, 7, 31, 64, 67, 1000}) {
      const auto size = static_cast<size_t>(count);
      std::vector<float> x(size + 1, 0.0f);
      fill(x.data(), count, 1.5f);
      EXPECT_EQ(sum(x.data(), count), 1.5f * static_cast<float>(count));
      scale_in_place(DType::float32, x.data(), count, 2.0f);
      EXPECT_EQ(sum(x.data(), count), 3.0f * static_cast<float>(count));
      EXPECT_EQ(x[size], 0.0f);

      std::vector<uint16_t> bits(size + 1, 5);
      scale_in_place(DType::bfloat16, bits.data(), count, 3.0f);
      for (size_t i = 0; i < size; ++i) EXPECT_EQ(bits[i], 15);
      EXPECT_EQ(bits[size], 5);
    }
  });
}

TEST(Limits, MultiplyAddsAddUp) {
  on_every_target([] {
    EXPECT_EQ(multiply_add(0, 1, 1), 66);  // 0 + 1 + ... + 11
    EXPECT_GE(multiply_add(100000, 1, 1), 66 + 100000 / 64);
    EXPECT_EQ(multiply_add(100000, 0, 2), 24);
  });
}

}  // namespace
}  // namespace hodometer
