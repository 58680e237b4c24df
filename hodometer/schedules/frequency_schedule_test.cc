#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "hodometer/schedules/frequency_schedule.h"
#include "hodometer/schedules/testing-inl.h"

namespace hodometer {
namespace {

using testing::expect_close;
using testing::inv_freq_of;
using testing::magnitude_of;
using testing::refusal;

TEST(FrequencySchedule, TagsAreUnique) {
  std::vector<std::string_view> names;
  [&]<class... Rules>(std::type_identity<std::variant<Rules...>>) {
    (names.push_back(Rules::name), ...);
  }(std::type_identity<FrequencySchedule>{});
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(FrequencySchedule, LengthDependenceIsDeclared) {
  const RotaryBand band{1e4, 8};
  LongRopeSchedule longrope{{1, 1, 1, 1}, {2, 2, 2, 2}, 64, 4.0, {}, {}, {}, {}};
  for (const FrequencySchedule& rule :
       {FrequencySchedule{DefaultSchedule{}}, FrequencySchedule{LinearSchedule{2}},
        FrequencySchedule{DynamicNtkSchedule{2, 64}},
        FrequencySchedule{DynamicNtkStepsSchedule{64}}, FrequencySchedule{longrope},
        FrequencySchedule{YarnSchedule{.factor = 2, .original_max_position_embeddings = 64}},
        FrequencySchedule{Llama3Schedule{8, 1, 4, 64}},
        FrequencySchedule{NtkByPartsSchedule{2, 64}}}) {
    const bool changes = inv_freq_of(rule, band, 64) != inv_freq_of(rule, band, 65);
    EXPECT_EQ(changes_beyond(rule).has_value(), changes);
    EXPECT_EQ(inv_freq_of(rule, band, 1), inv_freq_of(rule, band, 64));
  }
}

}  // namespace
}  // namespace hodometer
