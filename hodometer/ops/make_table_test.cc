#include "hodometer/ops/make_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hodometer/ops/exact_table.h"
#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::far_positions;
using testing::Heads;
using testing::paper_turn;
using testing::plan_of;
using testing::Turn;

struct Table {
  std::vector<float> cos, sin;
};
Table table_of(const Plan& plan, const PositionView& positions, int64_t length,
               std::optional<HeadRole> role = {}) {
  const auto size = static_cast<size_t>(length * table_pairs(plan));
  Table table{std::vector<float>(size), std::vector<float>(size)};
  const Status status = make_table(plan, positions, length, table.cos, table.sin, role);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return table;
}

TEST(MakeTable, IsThePapersRopeCache) {
  const auto length = static_cast<int64_t>(far_positions.size());
  for (const int64_t width : {2, 34, 128, 256}) {
    const Plan plan = plan_of(R"({"method":"rotary","head_dim":256,"rotary_dim":)" +
                              std::to_string(width) + R"(,"layout":"half_split","base":500000})");
    ASSERT_EQ(table_pairs(plan), width / 2);
    const Table table = table_of(plan, PositionView::shared_ids(far_positions), length);
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t pair = 0; pair < width / 2; ++pair) {
        const Turn turn = paper_turn(500000, pair, width,
                                     static_cast<double>(far_positions[static_cast<size_t>(i)]));
        const auto at = static_cast<size_t>(i * width / 2 + pair);
        ASSERT_NEAR(table.cos[at], turn.cos, 6e-8) << i << " " << pair;
        ASSERT_NEAR(table.sin[at], turn.sin, 6e-8) << i << " " << pair;
      }
    }
  }
}

// What rotate() uses, bit for bit: a head of ones and zeros shows the row.
TEST(MakeTable, HasTheRowsThatRotateUses) {
  for (const AngleMode mode : {AngleMode::exact, AngleMode::float32}) {
    const Plan plan = plan_of(
        R"({"method":"rotary","head_dim":32,"layout":"half_split","base":10000,
            "schedule":{"rope_type":"yarn","factor":4,"original_max_position_embeddings":4096}})",
        1, mode);
    const Table table = table_of(plan, PositionView::range(65536), 3);
    std::vector<float> x(3 * 32, 0.0f);
    for (size_t i = 0; i < 3; ++i) std::fill_n(x.begin() + static_cast<int64_t>(i) * 32, 16, 1.0f);
    ASSERT_TRUE(rotate(plan, HeadsView::bshd(x.data(), DType::float32, 1, 3, 1, 32),
                       PositionView::range(65536))
                    .ok());
    for (size_t i = 0; i < 3; ++i) {
      for (size_t pair = 0; pair < 16; ++pair) {
        EXPECT_EQ(table.cos[i * 16 + pair], x[i * 32 + pair]);
        EXPECT_EQ(table.sin[i * 16 + pair], x[i * 32 + 16 + pair]);
      }
    }
  }
}

TEST(MakeTable, Float32AnglesAreThoseOfFloat32Arithmetic) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":64,"layout":"half_split","base":10000})", 1,
              AngleMode::float32);
  const Table table = table_of(plan, PositionView::range(131071), 2);
  for (size_t pair = 0; pair < 32; ++pair) {
    const auto inv_freq = static_cast<float>(std::pow(10000.0, -static_cast<double>(pair) / 32));
    const float angle = 131072.0f * inv_freq;
    EXPECT_EQ(table.cos[32 + pair], static_cast<float>(std::cos(static_cast<double>(angle))));
  }
}

TEST(MakeTable, PutsTheRotationsSideBySide) {
  const Plan plan = plan_of(
      R"({"method":"axial_rotary","head_dim":16,"layout":"half_split","base":100,"axis_layout":"parts"})");
  ASSERT_EQ(table_pairs(plan), 8);
  const std::vector<int64_t> ids{3, 70000, 5, 9};  // [2, 1, 2]
  const Table table = table_of(plan, PositionView::axes(ids.data(), 2, 1, 2), 2);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t column = 0; column < 8; ++column) {
      const Turn turn = paper_turn(
          100, column % 4, 8, static_cast<double>(ids[static_cast<size_t>(column / 4 * 2 + i)]));
      EXPECT_NEAR(table.sin[static_cast<size_t>(i * 8 + column)], turn.sin, 1e-7);
    }
  }
}

TEST(MakeTable, FoldsTheDecayOfARole) {
  const Plan plan =
      plan_of(R"({"method":"xpos","head_dim":4096,"layout":"half_split","base":10000})");
  for (const HeadRole role : {HeadRole::query, HeadRole::key}) {
    const Table table = table_of(plan, PositionView::range(1000), 3, role);
    const ExactTable exact = *exact_table(plan, PositionView::range(1000), 3, role);
    for (size_t at = 0; at < table.cos.size(); ++at) {
      ASSERT_NEAR(table.cos[at], exact.cos[at], 3e-7 * std::hypot(exact.cos[at], exact.sin[at]));
    }
  }
  std::vector<float> room(2048);
  EXPECT_FALSE(make_table(plan, PositionView::range(0), 1, room, room).ok());
}

TEST(MakeTable, ThreadsDoNotChangeABit) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})");
  const Table serial = table_of(plan, PositionView::range(5), 3001);
  Table parallel{std::vector<float>(serial.cos.size()), std::vector<float>(serial.sin.size())};
  ASSERT_TRUE(make_table(plan, PositionView::range(5), 3001, parallel.cos, parallel.sin, {},
                         *make_executor(3))
                  .ok());
  EXPECT_EQ(parallel.cos, serial.cos);
  EXPECT_EQ(parallel.sin, serial.sin);
}

TEST(MakeTable, ErrorsNameWhatIsWrong) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000})");
  std::vector<float> room(12);
  EXPECT_EQ(make_table(plan, PositionView::range(0), 4, room, room).error().message,
            "make_table: cos has 12 elements and sin 12: expected 4 positions of 4 pairs");
  EXPECT_FALSE(make_table(plan, PositionView::range(0), INT64_MAX, room, room).ok());
  EXPECT_FALSE(make_table(plan, PositionView::range(0), -3, room, room).ok());
  EXPECT_EQ(make_table(plan, PositionView::range(max_position), 3, room, room).error().message,
            "make_table: position 2147483648 (row 0, token 1): expected -2147483647 to 2147483647");
  const Plan nope = plan_of(R"({"method":"nope"})");
  EXPECT_TRUE(make_table(nope, PositionView::range(0), 4, {}, {}).ok());
}

// Angles rounded to half precision before the cosine: -0.408 in place of 0.307.
TEST(MakeTable, AnglesAreNotRoundedToHalfPrecision) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":32,"layout":"half_split","base":10000})");
  const Table table = table_of(plan, PositionView::range(1857), 1);
  EXPECT_NEAR(static_cast<double>(table.cos[1]), 0.3066928, 1e-7);
  EXPECT_NEAR(static_cast<double>(table.cos[1]), std::cos(1044.2678408785), 1e-7);
}

// Positions rounded to bfloat16 or float16 share their rows.
TEST(MakeTable, NoTwoPositionsShareARow) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000})");
  for (const AngleMode mode : {AngleMode::exact, AngleMode::float32}) {
    const Table table =
        table_of(plan_of(spec_text(plan.spec), 1, mode), PositionView::range(0), 32768);
    std::set<std::vector<float>> rows;
    for (size_t i = 0; i < 32768; ++i) {
      std::vector<float> row(table.cos.begin() + static_cast<int64_t>(4 * i),
                             table.cos.begin() + static_cast<int64_t>(4 * i + 4));
      row.insert(row.end(), table.sin.begin() + static_cast<int64_t>(4 * i),
                 table.sin.begin() + static_cast<int64_t>(4 * i + 4));
      rows.insert(row);
      if (i == 511) {
        EXPECT_EQ(rows.size(), 512u);
      }
      if (i == 4095) {
        EXPECT_EQ(rows.size(), 4096u);
      }
    }
    EXPECT_EQ(rows.size(), 32768u);
  }
}

// What single-precision angles cost, and what phases do not.
TEST(MakeTable, ErrorsDoNotGrowWithThePosition) {
  const std::string spec =
      R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})";
  const struct {
    int64_t position;
    double single;
  } cases[] = {{4095, 1.4e-4}, {131071, 2.7e-3}, {1048575, 3.1e-2}, {10485759, 0.80}};
  for (const auto& one : cases) {
    const Table exact = table_of(plan_of(spec), PositionView::range(one.position), 1);
    const Table single =
        table_of(plan_of(spec, 1, AngleMode::float32), PositionView::range(one.position), 1);
    double worst = 0;
    for (int64_t pair = 0; pair < 64; ++pair) {
      const Turn turn = paper_turn(10000, pair, 128, static_cast<double>(one.position));
      const auto at = static_cast<size_t>(pair);
      EXPECT_NEAR(static_cast<double>(exact.cos[at]), turn.cos, 6e-8);
      EXPECT_NEAR(static_cast<double>(exact.sin[at]), turn.sin, 6e-8);
      const double c = static_cast<double>(single.cos[at]), s = static_cast<double>(single.sin[at]);
      worst = std::max(
          worst, std::abs(std::atan2(s * turn.cos - c * turn.sin, c * turn.cos + s * turn.sin)));
    }
    EXPECT_NEAR(worst, one.single, 0.04 * one.single) << one.position;
  }
}

// Only finished cosines and sines are rounded: at most half a unit of bfloat16.
TEST(MakeTable, RoundedToBfloat16IsOffByHalfAUnit) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})");
  const Table table = table_of(plan, PositionView::range(0), 4096);
  std::vector<uint16_t> bits(table.cos.size());
  std::vector<float> rounded(table.cos.size());
  const auto count = static_cast<int64_t>(bits.size());
  from_float32(DType::bfloat16, table.cos.data(), bits.data(), count);
  to_float32(DType::bfloat16, bits.data(), rounded.data(), count);
  float worst = 0;
  for (size_t i = 0; i < bits.size(); ++i) {
    worst = std::max(worst, std::abs(rounded[i] - table.cos[i]));
  }
  EXPECT_LE(worst, 0x1p-9f);
  EXPECT_GT(worst, 0.0019f);
}

// A table of 4096 rows for a window of 131072: here it has a row for every position asked for.
TEST(MakeTable, RowsReachAsFarAsThePositions) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})", 4096);
  const Table table = table_of(plan, PositionView::range(131072 - 4096), 4096);
  const Turn turn = paper_turn(10000, 1, 128, 131071);
  EXPECT_NEAR(static_cast<double>(table.cos[4095 * 64 + 1]), turn.cos, 6e-8);
}

// A table for a window of 1048576 positions is 512 MiB; a run of 32768 needs 16 of them.
TEST(MakeTable, SizeFollowsTheRunAndNotTheWindow) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})", 1048576);
  const Table table = table_of(plan, PositionView::range(0), 32768);
  EXPECT_EQ((table.cos.size() + table.sin.size()) * sizeof(float), size_t{16} << 20);
  EXPECT_EQ(2 * table_pairs(plan) * 1048576 * int64_t{sizeof(float)}, int64_t{512} << 20);
}

}  // namespace
}  // namespace hodometer
