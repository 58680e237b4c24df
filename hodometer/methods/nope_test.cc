#include "hodometer/methods/nope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

TEST(Nope, IsTheEmptyListOfActions) {
  const auto list = actions(testing::spec_of(R"({"method":"nope"})"), 131072);
  ASSERT_TRUE(list.ok());
  EXPECT_TRUE(list->empty());
}

}  // namespace
}  // namespace hodometer
