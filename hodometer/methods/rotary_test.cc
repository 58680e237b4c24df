#include "hodometer/methods/rotary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

// Hugging Face's own functions over every rope type. Their float32 pow is good to a few units in
// the last place. Of the 200 specs two are refused here, because their numbers are a slip.
TEST(Rotary, AgreesWithHuggingFaceOverEverySchedule) {
  const std::map<std::string, std::string> refused = {
      {"\"high_freq_factor\":1.0,", "expected at least low_freq_factor"},
      {"\"attention_factor\":0.0", "attention_factor is 0"}};
  const Json cases = testing::golden("hf_rope.json").at("cases");
  ASSERT_GE(cases.size(), 200u);
  size_t compared = 0;
  for (const Json& one : cases) {
    const std::string text = one["spec"].dump();
    if (const std::string why = refusal(text); why != "accepted") {
      const auto reason = std::find_if(refused.begin(), refused.end(), [&](const auto& entry) {
        return text.find(entry.first) != std::string::npos;
      });
      ASSERT_NE(reason, refused.end()) << one["name"] << ": " << why;
      EXPECT_NE(why.find(reason->second), std::string::npos) << why;
      continue;
    }
    ++compared;
    const Json& length = one["context_length"];
    const auto rotation =
        action_of<RotatePairs>(text, length.is_null() ? 1 : length.get<int64_t>());
    EXPECT_NEAR(rotation.magnitude, one["attention_factor"].get<double>(),
                1e-14 * rotation.magnitude)
        << one["name"];
    for (size_t k = 0; k < one["inv_freq"].size(); ++k) {
      const size_t pair = one.contains("pairs") ? one["pairs"][k].get<size_t>() : k;
      const double want = one["inv_freq"][k];
      EXPECT_NEAR(rotation.inv_freq.at(pair).to_double(), want, 1e-6 * want)
          << one["name"] << " pair " << pair;
    }
    const size_t count =
        one.contains("pair_count") ? one["pair_count"].get<size_t>() : one["inv_freq"].size();
    EXPECT_EQ(rotation.inv_freq.size(), count) << one["name"];
  }
  EXPECT_EQ(compared, cases.size() - refused.size());
}

TEST(Rotary, SlicesLieInsideTheHead) {
  const auto mla = action_of<RotatePairs>(
      R"({"method":"rotary","head_dim":192,"rotary_dim":64,"rotary_start":128,
          "layout":"interleaved","base":10000})");
  EXPECT_EQ(mla.rotary_start, 128);
  EXPECT_EQ(mla.inv_freq.size(), 32u);
  EXPECT_NE(refusal(R"({"method":"rotary","head_dim":192,"rotary_dim":64,"rotary_start":130,
                        "layout":"interleaved","base":10000})"),
            "accepted");
  EXPECT_NE(refusal(R"({"method":"rotary","head_dim":2000000000,"layout":"interleaved",
                        "base":10000})"),
            "accepted");
}

// An example that asks for three lanes: lanes turn in pairs, and two of them make one pair.
TEST(Rotary, OddWidthHasALaneWithoutAPartner) {
  const std::string head = R"({"method":"rotary","head_dim":4,"layout":"half_split","base":10000,)";
  EXPECT_NE(refusal(head + R"("rotary_dim":3})").find("rotary_dim is 3: expected an even number"),
            std::string::npos);
  EXPECT_EQ(action_of<RotatePairs>(head + R"("rotary_dim":2})").inv_freq.size(), 1u);
}

// A table made for the whole head where a part of it turns.
TEST(Rotary, TableIsAsWideAsThePartThatTurns) {
  for (const auto& [width, pairs] : {std::pair{0, 0u}, {2, 1u}, {4, 2u}, {6, 3u}, {8, 4u}}) {
    const auto rotation = action_of<RotatePairs>(
        R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000,"rotary_dim":)" +
        std::to_string(width) + "}");
    EXPECT_EQ(rotation.inv_freq.size(), pairs);
    EXPECT_EQ(rotation.head_dim, 8);
  }
}

// The angle is the position times the frequency in radians; no pi is missing.
TEST(Rotary, AngleIsInRadians) {
  const auto rotation = action_of<RotatePairs>(
      R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})");
  EXPECT_EQ(7 * rotation.inv_freq[0].to_double(), 7.0);
  EXPECT_NEAR(2 * M_PI / rotation.inv_freq[0].to_double(), 6.283185307, 5e-10);
  EXPECT_NEAR(2 * M_PI / rotation.inv_freq[63].to_double(), 54410, 0.5);
}

}  // namespace
}  // namespace hodometer
