#include <gtest/gtest.h>

#include <cmath>

#include "hodometer/schedules/frequency_schedule.h"
#include "hodometer/schedules/testing-inl.h"

namespace hodometer {
namespace {

using testing::expect_close;
using testing::inv_freq_of;
using testing::magnitude_of;
using testing::refusal;

// Fast pairs stay plain, slow pairs become linear, the middle is NTK's.
TEST(NtkByPartsSchedule, BandsGoFromPlainToLinear) {
  const RotaryBand band{1e4, 128};
  const auto plain = inv_freq_of(DefaultSchedule{}, band);
  const auto ntk = inv_freq_of(NtkSchedule{4, NtkVariant::scaled_base, {}}, band);
  const auto parts = inv_freq_of(NtkByPartsSchedule{4, 2048}, band);
  const auto pair_with_turns = [](double turns) {
    return 128 * std::log(2048 / (2 * M_PI * turns)) / (2 * std::log(1e4));
  };
  for (size_t i = 0; i < plain.size(); ++i) {
    const double index = static_cast<double>(i);
    if (index <= std::floor(pair_with_turns(16))) expect_close(parts[i], plain[i], 1e-14);
    if (index >= std::ceil(pair_with_turns(0.75))) expect_close(parts[i], plain[i] / 4, 1e-14);
    if (index > std::ceil(pair_with_turns(2)) && index < std::floor(pair_with_turns(1.25))) {
      expect_close(parts[i], ntk[i], 1e-14);
    }
    EXPECT_LE(parts[i], plain[i] * (1 + 1e-14));
    EXPECT_GE(parts[i], plain[i] / 4 * (1 - 1e-14));
  }
}

TEST(NtkByPartsSchedule, WeightsSwitchPartsOff) {
  const RotaryBand band{1e4, 128};
  const auto linear = inv_freq_of(LinearSchedule{4}, band);
  const auto none = inv_freq_of(NtkByPartsSchedule{4, 2048, 0, 0}, band);
  for (size_t i = 0; i < none.size(); ++i) expect_close(none[i], linear[i], 1e-14);
}

TEST(NtkByPartsSchedule, RefusesWhatHasNoValue) {
  EXPECT_EQ(refusal(NtkByPartsSchedule{4, 2048}, {1.0, 64}),
            "base is 1: expected more than 1, the ramp divides by its logarithm");
}

}  // namespace
}  // namespace hodometer
