#include "hodometer/position/mask.h"

#include <gtest/gtest.h>

#include "hodometer/base/json-inl.h"

namespace hodometer {
namespace {

bool sees(const Mask& mask, int64_t query, int64_t key) {
  const PositionInterval interval = seen_positions(mask, query);
  return key >= interval.first && key <= interval.last;
}

constexpr int64_t far = (int64_t{1} << 31) - 1;

TEST(Mask, CausalShowsNothingLater) {
  for (const int64_t query : {int64_t{0}, int64_t{7}, far}) {
    EXPECT_TRUE(sees(CausalMask(), query, query));
    EXPECT_TRUE(sees(CausalMask(), query, -far));
    EXPECT_FALSE(sees(CausalMask(), query, query + 1));
  }
}

TEST(Mask, BidirectionalShowsEverything) {
  EXPECT_TRUE(sees(BidirectionalMask(), -far, far));
  EXPECT_TRUE(sees(BidirectionalMask(), far, -far));
}

// A window of 3 that counts the query shows two keys before it; counted without it, three.
TEST(Mask, SlidingWindowCountsTheQuery) {
  const Mask mask = sliding_window(3);
  EXPECT_TRUE(sees(mask, 10, 10));
  EXPECT_TRUE(sees(mask, 10, 8));
  EXPECT_FALSE(sees(mask, 10, 7));
  EXPECT_FALSE(sees(mask, 10, 11));
}

TEST(Mask, WindowOnBothSides) {
  const Mask mask = WindowMask{64, 64};
  EXPECT_TRUE(sees(mask, 100, 36));
  EXPECT_TRUE(sees(mask, 100, 164));
  EXPECT_FALSE(sees(mask, 100, 35));
  EXPECT_FALSE(sees(mask, 100, 165));
  EXPECT_TRUE(sees(WindowMask{INT64_MAX, INT64_MAX}, far, -far));
}

TEST(Mask, ChunksStartAtMultiplesOfTheirSize) {
  const Mask mask = ChunkedMask{8192};
  EXPECT_TRUE(sees(mask, 8191, 0));
  EXPECT_FALSE(sees(mask, 8192, 8191));
  EXPECT_TRUE(sees(mask, 8192, 8192));
  EXPECT_FALSE(sees(mask, 8192, 8193));
  EXPECT_TRUE(sees(mask, -1, -8192));
  EXPECT_FALSE(sees(mask, -1, -8193));
}

TEST(Mask, PrefixIsSeenByAll) {
  const Mask mask = PrefixMask{5};
  EXPECT_TRUE(sees(mask, 0, 4));
  EXPECT_FALSE(sees(mask, 0, 5));
  EXPECT_TRUE(sees(mask, 9, 9));
  EXPECT_FALSE(sees(mask, 9, 10));
}

TEST(Mask, RefusesSizesThatShowNothing) {
  EXPECT_EQ(check(ChunkedMask{0}, "attention").error().message,
            "attention: the mask's size is 0: expected 1 or more");
  EXPECT_EQ(check(sliding_window(0), "attention").error().message,
            "attention: the mask's left is -1: expected 0 or more");
  EXPECT_FALSE(check(WindowMask{0, -1}, "attention").ok());
  EXPECT_FALSE(check(PrefixMask{-1}, "attention").ok());
  EXPECT_TRUE(check(CausalMask(), "attention").ok());
  EXPECT_TRUE(check(PrefixMask{0}, "attention").ok());
}

TEST(Mask, HasATextForm) {
  const auto read = [](const char* text) {
    Mask mask;
    const Status status = read_json(Json::parse(text), "mask", mask);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    return mask;
  };
  EXPECT_TRUE(std::holds_alternative<BidirectionalMask>(read(R"({"kind":"bidirectional"})")));
  EXPECT_EQ(std::get<WindowMask>(read(R"({"kind":"window","left":3})")).left, 3);
  EXPECT_EQ(write_json(Mask(PrefixMask{5})).dump(), R"({"kind":"prefix","length":5})");
}

}  // namespace
}  // namespace hodometer
