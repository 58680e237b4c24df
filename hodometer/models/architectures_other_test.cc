#include <gtest/gtest.h>

#include "hodometer/models/families-inl.h"

namespace hodometer {
namespace {

TEST(OtherFamilies, NameTheFamiliesOfTheirParts) {
  for (const FamilyRow& row : other_families()) {
    EXPECT_NE(row.family.read, nullptr) << row.model_types;
    for (const std::string_view part : {row.family.text, row.family.vision, row.family.audio}) {
      EXPECT_TRUE(part.empty() || find_family(part) != nullptr) << row.model_types << " " << part;
    }
    if (row.family.read == refuse) {
      EXPECT_FALSE(row.family.note.empty()) << row.model_types;
    }
  }
}

}  // namespace
}  // namespace hodometer
