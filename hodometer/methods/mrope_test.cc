#include "hodometer/methods/mrope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

std::string letters(const std::vector<int64_t>& sections, SectionLayout layout) {
  const int64_t pairs = std::accumulate(sections.begin(), sections.end(), int64_t{0});
  const Mrope spec{{.head_dim = 2 * pairs, .base = 10000}, sections, layout};
  EXPECT_TRUE(check(spec).ok());
  std::string text;
  const auto rotation = std::get<RotatePairs>(actions(spec, 1).front());
  for (uint8_t axis : rotation.axis) text += "thw"[axis];
  return text;
}

TEST(Mrope, ChunkedAndInterleavedSections) {
  EXPECT_EQ(letters({2, 3, 3}, SectionLayout::chunked), "tthhhwww");
  std::string qwen3;
  for (int i = 0; i < 20; ++i) qwen3 += "thw";
  EXPECT_EQ(letters({24, 20, 20}, SectionLayout::interleaved), qwen3 + "tttt");
  std::string qwen35;
  for (int i = 0; i < 10; ++i) qwen35 += "thw";
  EXPECT_EQ(letters({11, 11, 10}, SectionLayout::interleaved), qwen35 + "th");
}

TEST(Mrope, AlternatingIsHeightWidthThenTime) {
  const std::string ernie = letters({22, 22, 20}, SectionLayout::alternating);
  std::string want;
  for (int i = 0; i < 22; ++i) want += "hw";
  EXPECT_EQ(ernie, want + std::string(20, 't'));
}

// A pair's index fixes its frequency whichever axis it reads.
TEST(Mrope, FrequenciesAreThoseOfPlainRotary) {
  const auto mrope = action_of<RotatePairs>(
      R"({"method":"mrope","head_dim":128,"layout":"half_split","base":1000000,
          "mrope_section":[16,24,24],"section_layout":"chunked"})");
  const auto plain = action_of<RotatePairs>(
      R"({"method":"rotary","head_dim":128,"layout":"half_split","base":1000000})");
  EXPECT_EQ(mrope.inv_freq, plain.inv_freq);
  EXPECT_EQ(mrope.num_axes, 3);
}

TEST(Mrope, SectionsMustFit) {
  const auto with = [](const std::string& sections, const std::string& layout = "chunked") {
    return refusal(R"({"method":"mrope","head_dim":128,"layout":"half_split","base":1e6,)" +
                   ("\"mrope_section\":" + sections) + ",\"section_layout\":\"" + layout + "\"}");
  };
  EXPECT_NE(with("[16,24]").find("sums to 40"), std::string::npos);
  EXPECT_NE(with("[64]").find("expected 2 to 4"), std::string::npos);
  EXPECT_NE(with("[-16,40,40]").find("mrope_section[0] is -16"), std::string::npos);
  EXPECT_NE(with("[9007199254740992,9007199254740992,0]").find("sums to"), std::string::npos);
  EXPECT_NE(with("[20,24,20]", "alternating").find("as many pairs"), std::string::npos);
}

}  // namespace
}  // namespace hodometer
