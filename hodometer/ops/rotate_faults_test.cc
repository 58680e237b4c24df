// Ways in which rotations went wrong elsewhere, each with the smallest input that shows it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hodometer/ops/make_table.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::Heads;
using testing::paper_turn;
using testing::plan_of;
using testing::Turn;

std::string rotary(int64_t head_dim, std::string_view layout, double base = 10000) {
  return fmt::format(R"({{"method":"rotary","head_dim":{},"layout":"{}","base":{}}})", head_dim,
                     layout, base);
}

/// One head at one position.
std::vector<float> turned(const Plan& plan, std::vector<float> x, int64_t position) {
  const auto width = static_cast<int64_t>(x.size());
  const Status status = rotate(plan, HeadsView::bshd(x.data(), DType::float32, 1, 1, 1, width),
                               PositionView::range(position));
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return x;
}

void expect_lanes(const std::vector<float>& got, const std::vector<double>& want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t lane = 0; lane < want.size(); ++lane) {
    EXPECT_NEAR(static_cast<double>(got[lane]), want[lane], bound) << "lane " << lane;
  }
}

// Adjacent lanes turned together and the results put one after the other: the same eight values,
// in another order.
TEST(RotateFaults, AdjacentPairsGoBackToTheirOwnLanes) {
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  expect_lanes(turned(plan_of(rotary(8, "interleaved")), x, 1),
               {-1.14264, 1.92208, 2.58568, 4.27952, 4.93975, 6.0497, 6.992, 8.007}, 6e-6);
  expect_lanes(turned(plan_of(rotary(8, "half_split")), x, 1),
               {-3.66705, 1.39101, 2.92985, 3.992, 3.54298, 6.16969, 7.02965, 8.004}, 6e-6);
}

// The table of one pairing with the partner of the other: two lanes are right, and the norm is not
// kept.
TEST(RotateFaults, TableAndPartnerAreOfOnePairing) {
  const std::vector<float> x{1, 2, 3, 4};
  const auto y = turned(plan_of(rotary(4, "interleaved")), x, 1);
  expect_lanes(y, {-1.142640, 1.922076, 2.959851, 4.029800}, 6e-7);
  EXPECT_NEAR(std::inner_product(y.begin(), y.end(), y.begin(), 0.0), 30, 1e-5);
}

// Half-split is no slip: it is the same rotation of lanes in another order.
TEST(RotateFaults, PairingsAreEqualUpToTheOrderOfLanes) {
  const std::vector<float> x{1, 2, 3, 4};
  const auto half = turned(plan_of(rotary(4, "half_split")), x, 1);
  expect_lanes(half, {-1.984111, 1.959901, 2.462378, 4.019800}, 6e-7);
  const auto y = turned(plan_of(rotary(4, "interleaved")), {x[0], x[2], x[1], x[3]}, 1);
  expect_lanes({y[0], y[2], y[1], y[3]}, {-1.984111, 1.959901, 2.462378, 4.019800}, 6e-7);
}

// One table of half the width serves both pairings: there is no [c1, c1, c2, c2] beside a
// [c1, c2, c1, c2].
TEST(RotateFaults, TableDoesNotRepeatItsColumns) {
  std::vector<float> rows[2];
  for (const size_t which : {0u, 1u}) {
    const Plan plan = plan_of(rotary(4, which == 0 ? "half_split" : "interleaved"));
    ASSERT_EQ(table_pairs(plan), 2);
    rows[which].resize(4);
    const std::span<float> row(rows[which]);
    ASSERT_TRUE(make_table(plan, PositionView::range(1), 1, row.first(2), row.last(2)).ok());
  }
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_FLOAT_EQ(rows[0][0], std::cos(1.0f));
  EXPECT_FLOAT_EQ(rows[0][1], std::cos(0.01f));
}

// A kernel that fetched the partner from at most 32 lanes away.
TEST(RotateFaults, PartnersBeyondThe32ndLaneAreReached) {
  for (const int64_t width : {32, 64, 128}) {
    const Plan plan = plan_of(rotary(width, "half_split"));
    for (int64_t pair = 0; pair < width / 2; ++pair) {
      std::vector<float> x(static_cast<size_t>(width), 0.0f);
      const auto second = static_cast<size_t>(pair + width / 2);
      x[second] = 1;
      const auto y = turned(plan, x, 1000);
      const Turn turn = paper_turn(10000, pair, width, 1000);
      for (size_t lane = 0; lane < y.size(); ++lane) {
        const double want = lane == static_cast<size_t>(pair) ? -turn.sin
                            : lane == second                  ? turn.cos
                                                              : 0.0;
        ASSERT_NEAR(static_cast<double>(y[lane]), want, 1e-7) << width << " " << pair;
      }
    }
  }
}

// A width that is no multiple of 16, with many tokens and heads.
TEST(RotateFaults, WidthOf72IsTurnedInEveryTokenAndHead) {
  constexpr int64_t tokens = 7200, heads = 90, width = 72;
  std::vector<uint16_t> x(tokens * heads * width, uint16_t{0x3f80});  // 1
  const Plan plan = plan_of(rotary(width, "interleaved"));
  ASSERT_TRUE(rotate(plan, HeadsView::bshd(x.data(), DType::bfloat16, 1, tokens, heads, width),
                     PositionView::range(0))
                  .ok());
  for (const int64_t token : {0, 1, 4095, 7199}) {
    for (const int64_t head : {0, 1, 89}) {
      std::vector<float> y(width);
      to_float32(DType::bfloat16, &x[static_cast<size_t>((token * heads + head) * width)], y.data(),
                 width);
      for (int64_t pair = 0; pair < width / 2; ++pair) {
        const Turn turn = paper_turn(10000, pair, width, static_cast<double>(token));
        const auto lane = static_cast<size_t>(2 * pair);
        ASSERT_NEAR(static_cast<double>(y[lane]), turn.cos - turn.sin, 0x1p-8);
        ASSERT_NEAR(static_cast<double>(y[lane + 1]), turn.cos + turn.sin, 0x1p-8);
      }
    }
  }
}

// No lanes turn at width 0: nothing is forced to a pair.
TEST(RotateFaults, WidthZeroIsTheIdentity) {
  const Plan plan = plan_of(
      R"({"method":"rotary","head_dim":64,"rotary_dim":0,"layout":"half_split","base":10000})");
  EXPECT_EQ(table_pairs(plan), 0);
  const Heads before = Heads::bshd(DType::bfloat16, 2, 3, 2, 64);
  Heads after = before;
  ASSERT_TRUE(rotate(plan, after.view(), PositionView::range(1000)).ok());
  EXPECT_EQ(after, before);
}

// Positions in bfloat16 merge from 257 on: 385 of 512 are left, and 4000 to 4008 are one.
TEST(RotateFaults, NeighboursFarFromTheStartKeepTheirOwnPositions) {
  const Plan plan = plan_of(rotary(8, "half_split"));
  for (const auto& [first, second] : {std::pair{256, 257}, {4000, 4001}, {4007, 4008}}) {
    std::vector<uint16_t> x(16, uint16_t{0x3f80});  // 1
    const std::vector<int64_t> ids{first, second};
    ASSERT_TRUE(rotate(plan, HeadsView::bshd(x.data(), DType::bfloat16, 1, 2, 1, 8),
                       PositionView::shared_ids(ids))
                    .ok());
    std::vector<float> y(16);
    to_float32(DType::bfloat16, x.data(), y.data(), 16);
    EXPECT_NEAR(static_cast<double>(y[0]), std::cos(first) - std::sin(first), 0x1p-8);
    EXPECT_NEAR(static_cast<double>(y[8]), std::cos(second) - std::sin(second), 0x1p-8);
  }
}

// Positions in float16 merge from 2049 on and are infinite from 65520 on.
TEST(RotateFaults, PositionsAreNotRoundedWithTheHeads) {
  const Plan plan = plan_of(rotary(8, "half_split"));
  for (const int64_t position : {2048, 2049, 2050, 32767, 65519, 65520, 65536}) {
    std::vector<uint16_t> x(8, uint16_t{0x3c00});  // 1
    ASSERT_TRUE(rotate(plan, HeadsView::bshd(x.data(), DType::float16, 1, 1, 1, 8),
                       PositionView::range(position))
                    .ok());
    std::vector<float> y(8);
    to_float32(DType::float16, x.data(), y.data(), 8);
    for (int64_t pair = 0; pair < 4; ++pair) {
      const Turn turn = paper_turn(10000, pair, 8, static_cast<double>(position));
      EXPECT_NEAR(static_cast<double>(y[static_cast<size_t>(pair)]), turn.cos - turn.sin, 0x1p-11)
          << position;
    }
  }
}

// Frequencies rounded to bfloat16 with the model: pair 1 is 0.6 rad off at position 511.
TEST(RotateFaults, FrequenciesAreNotRoundedWithTheHeads) {
  const Plan plan = plan_of(rotary(128, "half_split"));
  for (const int64_t position : {511, 2047, 4095}) {
    std::vector<float> ones(128, 1.0f);
    std::vector<uint16_t> x(128);
    from_float32(DType::bfloat16, ones.data(), x.data(), 128);
    ASSERT_TRUE(rotate(plan, HeadsView::bshd(x.data(), DType::bfloat16, 1, 1, 1, 128),
                       PositionView::range(position))
                    .ok());
    std::vector<float> y(128);
    to_float32(DType::bfloat16, x.data(), y.data(), 128);
    const Turn turn = paper_turn(10000, 1, 128, static_cast<double>(position));
    EXPECT_NEAR(static_cast<double>(y[1]), turn.cos - turn.sin, 0x1p-8) << position;
    EXPECT_NEAR(static_cast<double>(y[65]), turn.cos + turn.sin, 0x1p-8) << position;
  }
}

// A sine with a poor reduction: right to position 40, off by 1e-2 at 131071 in the fastest pair.
TEST(RotateFaults, FastestPairIsRightFarFromTheStart) {
  const Plan plan = plan_of(rotary(8, "half_split"));
  for (const int64_t position : {0, 1, 2047, 32767, 131071, 1048575, 10485759}) {
    const auto y = turned(plan, {1, 0, 0, 0, 0, 0, 0, 0}, position);
    const Turn turn = paper_turn(10000, 0, 8, static_cast<double>(position));
    EXPECT_NEAR(static_cast<double>(y[0]), turn.cos, 6e-8) << position;
    EXPECT_NEAR(static_cast<double>(y[4]), turn.sin, 6e-8) << position;
  }
}

// Generation that ends where a table of 2560 rows does: nothing here is sized beforehand.
TEST(RotateFaults, CachedLengthIsNoLimit) {
  const Plan plan = plan_of(rotary(64, "half_split"), 256);
  for (const int64_t position : {2559, 2560, 25600}) {
    std::vector<float> x(64, 0.0f);
    x[1] = 1;
    const Turn turn = paper_turn(10000, 1, 64, static_cast<double>(position));
    EXPECT_NEAR(static_cast<double>(turned(plan, x, position)[1]), turn.cos, 1e-7) << position;
  }
}

// A prompt of 3900 tokens and 500 more: past the trained length the other list counts, and a plan
// for the shorter sequence must not turn one token of the longer.
TEST(RotateFaults, ListsOfTwoLengthsAreNotMixed) {
  const std::string spec =
      R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"longrope","short_factor":[1,1,1,1],"long_factor":[1,2,4,8],
          "original_max_position_embeddings":4096,"max_position_embeddings":131072}})";
  Heads heads = Heads::bshd(DType::float32, 1, 1, 1, 8);
  const Plan prompt = plan_of(spec, 3900);
  EXPECT_TRUE(rotate(prompt, heads.view(), PositionView::range(4095)).ok());
  const Heads before = heads;
  const Status refused = rotate(prompt, heads.view(), PositionView::range(4399));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("position 4399"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(heads, before);
  const Plan whole = plan_of(spec, 4400);
  EXPECT_NE(whole.rotations[0].angles.step, prompt.rotations[0].angles.step);
  EXPECT_TRUE(rotate(whole, heads.view(), PositionView::range(4399)).ok());
}

// The length of a prompt taken from where it begins: 5000 tokens from 0 on are not of length 0.
TEST(RotateFaults, PromptIsAsLongAsItsLastPosition) {
  const std::string spec =
      R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"longrope","short_factor":[1,1,1,1],"long_factor":[1,2,4,8],
          "original_max_position_embeddings":4096,"max_position_embeddings":131072}})";
  Heads heads = Heads::bshd(DType::float32, 1, 5000, 1, 8);
  EXPECT_FALSE(rotate(plan_of(spec, 1), heads.view(), PositionView::range(0)).ok());
  EXPECT_TRUE(rotate(plan_of(spec, 5000), heads.view(), PositionView::range(0)).ok());
}

}  // namespace
}  // namespace hodometer
