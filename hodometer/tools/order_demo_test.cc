#include "hodometer/tools/order_demo.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hodometer {
namespace {

OrderDemo demo_of(const std::string& first, const std::string& second) {
  const Result<OrderDemo> demo = order_demo(first, second);
  EXPECT_TRUE(demo.ok()) << (demo.ok() ? "" : demo.error().message);
  return demo.ok() ? *demo : OrderDemo{};
}

std::string refusal(const std::string& first, const std::string& second) {
  const Result<OrderDemo> demo = order_demo(first, second);
  if (demo.ok()) return "accepted";
  EXPECT_EQ(demo.error().kind, ErrorKind::usage);
  return demo.error().message;
}

bool has_mask(const OrderRow& row) { return !std::holds_alternative<BidirectionalMask>(row.mask); }

OrderRow row_of(const OrderDemo& demo, const std::string& name, bool mask = false) {
  for (const OrderRow& row : demo.rows) {
    if (row.name == name && has_mask(row) == mask) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return {};
}

TEST(OrderDemo, WithoutAMethodNothingTellsTheOrder) {
  const OrderDemo demo = demo_of("dog bites man", "man bites dog");
  const OrderRow none = row_of(demo, "none");
  EXPECT_FALSE(none.tells_apart);
  EXPECT_EQ(none.largest_difference, 0);
  ASSERT_EQ(none.words.size(), 3U);
  for (const OrderWord& word : none.words) {
    EXPECT_EQ(word.first.size(), 8U);
    EXPECT_EQ(word.first, word.second) << word.word;
  }
  // The vectors themselves differ from word to word.
  EXPECT_NE(none.words[0].first, none.words[1].first);
}

TEST(OrderDemo, AMaskAloneLetsTheOrderThrough) {
  const OrderRow none = row_of(demo_of("dog bites man", "man bites dog"), "none", true);
  EXPECT_TRUE(none.tells_apart);
  EXPECT_GT(none.largest_difference, 0.1);
}

TEST(OrderDemo, EveryMethodTellsTheOrder) {
  const OrderDemo demo = demo_of("dog bites man", "man bites dog");
  for (const char* name : {"sinusoidal", "learned", "rotary", "mrope", "xpos", "t5_bias", "shaw"}) {
    EXPECT_TRUE(row_of(demo, name).tells_apart) << name;
    EXPECT_GT(row_of(demo, name).largest_difference, 1e-2) << name;
  }
  EXPECT_TRUE(row_of(demo, "alibi", true).tells_apart);
}

// A penalty on |distance| alone: the mirror image has the same distances.
TEST(OrderDemo, AlibiWithoutAMaskSeesNoDifferenceToTheMirrorImage) {
  const OrderRow mirror = row_of(demo_of("dog bites man", "man bites dog"), "alibi");
  EXPECT_FALSE(mirror.tells_apart);
  EXPECT_NE(mirror.note.find("mirror"), std::string::npos);
  const OrderRow turned = row_of(demo_of("dog bites man", "bites dog man"), "alibi");
  EXPECT_TRUE(turned.tells_apart);
  EXPECT_EQ(turned.note, "");
  EXPECT_GT(turned.largest_difference, 1e-2);
}

TEST(OrderDemo, TextIsTheSameToMropeAsToRotary) {
  const OrderDemo demo = demo_of("dog bites man", "man bites dog");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(row_of(demo, "mrope").words[i].first, row_of(demo, "rotary").words[i].first);
  }
}

TEST(OrderDemo, CopiesOfAWordAreComparedAsAGroup) {
  const OrderDemo demo = demo_of("the dog bites the man", "the man bites the dog");
  const OrderRow none = row_of(demo, "none");
  ASSERT_EQ(none.words.size(), 4U);
  EXPECT_EQ(none.words[0].word, "the");
  EXPECT_EQ(none.words[0].first.size(), 16U);
  EXPECT_FALSE(none.tells_apart);
  EXPECT_TRUE(row_of(demo, "rotary").tells_apart);
}

TEST(OrderDemo, OtherWordsAreRefusedByName) {
  EXPECT_NE(refusal("dog bites man", "man bites cat").find("\"dog\" is in the first sentence once"),
            std::string::npos);
  EXPECT_NE(refusal("dog bites", "dog bites bites")
                .find("\"bites\" is in the first sentence once and in the second 2 times"),
            std::string::npos);
  EXPECT_NE(refusal("dog", "dog cat").find("\"cat\" is in the first sentence 0 times"),
            std::string::npos);
  EXPECT_NE(refusal("Dog bites", "bites dog").find("\"Dog\""), std::string::npos);
  EXPECT_NE(refusal("dog bites", " dog\tbites\n").find("equal"), std::string::npos);
  EXPECT_NE(refusal("", "dog").find("the first sentence has 0 words"), std::string::npos);
  EXPECT_NE(refusal("dog", "  ").find("the second sentence has 0 words"), std::string::npos);
  std::string many;
  for (int i = 0; i < 65; ++i) many += "dog ";
  EXPECT_NE(refusal(many, "dog").find("65 words"), std::string::npos);
}

RC_GTEST_PROP(OrderDemoProperties, OnlyWhatKnowsPlacesTellsAnyTwoOrdersApart, ()) {
  std::vector<std::string> words = {"a", "b", "c", "d", "e"};
  const std::string first = "a b c d e";
  for (size_t i = words.size(); i > 1; --i) {
    std::swap(words[i - 1], words[*rc::gen::inRange<size_t>(0, i)]);
  }
  std::string second;
  for (const std::string& word : words) second += word + " ";
  RC_PRE(second != first + " ");
  const auto demo = order_demo(first, second);
  RC_ASSERT(demo.ok());
  for (const OrderRow& row : demo->rows) {
    if (row.name == "alibi" && !has_mask(row)) continue;
    RC_ASSERT(row.tells_apart == (row.name != "none" || has_mask(row)));
  }
}

}  // namespace
}  // namespace hodometer
