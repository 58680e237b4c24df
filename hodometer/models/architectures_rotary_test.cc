#include <gtest/gtest.h>

#include "hodometer/models/families-inl.h"

namespace hodometer {
namespace {

TEST(RotaryFamilies, AllSayHowTheyPair) {
  for (const FamilyRow& row : rotary_families()) {
    EXPECT_TRUE(row.family.layout.has_value()) << row.model_types;
    EXPECT_NE(row.family.read, nullptr) << row.model_types;
  }
}

}  // namespace
}  // namespace hodometer
