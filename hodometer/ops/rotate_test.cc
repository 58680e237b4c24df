#include "hodometer/ops/rotate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::far_positions;
using testing::Heads;
using testing::paper_turn;
using testing::plan_of;
using testing::rounding;
using testing::Turn;

std::string rotary(int64_t head_dim, int64_t rotary_dim, int64_t start, std::string_view layout,
                   double base = 10000) {
  return fmt::format(
      R"({{"method":"rotary","head_dim":{},"rotary_dim":{},"rotary_start":{},"layout":"{}","base":{}}})",
      head_dim, rotary_dim, start, layout, base);
}

/// The lanes of a pair.
std::pair<int64_t, int64_t> lanes(std::string_view layout, int64_t start, int64_t rotary_dim,
                                  int64_t pair) {
  if (layout == "interleaved") return {start + 2 * pair, start + 2 * pair + 1};
  return {start + pair, start + pair + rotary_dim / 2};
}

/// Compares every lane of `after` with the paper's rotation of `before`.
template <class TurnOf>
void expect_turned(const Heads& before, const Heads& after, std::string_view layout, int64_t start,
                   int64_t rotary_dim, const TurnOf& turn_of) {
  const HeadsView& shape = before.shape();
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t i = 0; i < shape.length; ++i) {
      for (int64_t pair = 0; pair < rotary_dim / 2; ++pair) {
        const Turn turn = turn_of(b, i, pair);
        const auto [first, second] = lanes(layout, start, rotary_dim, pair);
        for (int64_t h = 0; h < shape.heads; ++h) {
          const double x = before.at(b, i, h, first);
          const double y = before.at(b, i, h, second);
          const double want_x = x * turn.cos - y * turn.sin;
          const double want_y = y * turn.cos + x * turn.sin;
          const double bound = 3e-7 * std::hypot(turn.cos, turn.sin) * (std::abs(x) + std::abs(y));
          ASSERT_NEAR(after.at(b, i, h, first), want_x, bound + rounding(shape.dtype, want_x))
              << layout << " " << rotary_dim << ": row " << b << ", token " << i << ", pair " << pair;
          ASSERT_NEAR(after.at(b, i, h, second), want_y, bound + rounding(shape.dtype, want_y))
              << layout << " " << rotary_dim << ": row " << b << ", token " << i << ", pair " << pair;
        }
      }
      for (int64_t h = 0; h < shape.heads; ++h) {
        for (int64_t lane = 0; lane < shape.head_dim; ++lane) {
          if (lane >= start && lane < start + rotary_dim) continue;
          ASSERT_EQ(after.at(b, i, h, lane), before.at(b, i, h, lane)) << "lane " << lane;
        }
      }
    }
  }
}

/// Row b of a batch reads the far positions from its own place on.
std::vector<int64_t> far_ids(int64_t batch) {
  std::vector<int64_t> ids;
  for (int64_t b = 0; b < batch; ++b) {
    for (size_t i = 0; i < far_positions.size(); ++i) {
      ids.push_back(far_positions[(i + static_cast<size_t>(5 * b)) % far_positions.size()]);
    }
  }
  return ids;
}

TEST(Rotate, MatchesThePaperAtFarPositionsInEveryWidth) {
  const auto length = static_cast<int64_t>(far_positions.size());
  for (const int64_t width : {2, 8, 16, 32, 34, 64, 80, 96, 128, 192, 256}) {
    std::map<std::pair<int64_t, int64_t>, Turn> known;
    for (const std::string_view layout : {"half_split", "interleaved"}) {
      for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
        const int64_t batch = 1 + width / 2 % 3;
        const std::vector<int64_t> ids = far_ids(batch);
        const Plan plan = plan_of(rotary(width, width, 0, layout, 500000));
        const Heads before = Heads::bshd(dtype, batch, length, 3, width);
        Heads after = before;
        ASSERT_TRUE(rotate(plan, after.view(), PositionView::ids(ids.data(), batch, length)).ok());
        expect_turned(before, after, layout, 0, width, [&](int64_t b, int64_t i, int64_t pair) {
          const int64_t position = ids[static_cast<size_t>(b * length + i)];
          const auto [found, is_new] = known.try_emplace({position, pair});
          if (is_new) {
            found->second = paper_turn(500000, pair, width, static_cast<double>(position));
          }
          return found->second;
        });
      }
    }
  }
}

// Fault: with one new token the batch is left out, and only row 0 is turned.
TEST(Rotate, OneTokenInABatchTurnsEveryRow) {
  const Plan plan = plan_of(rotary(256, 256, 0, "half_split"));
  std::vector<float> y(2 * 16 * 256, 1.0f);
  ASSERT_TRUE(
      rotate(plan, HeadsView::bhsd(y.data(), DType::float32, 2, 1, 16, 256), PositionView::range(6))
          .ok());
  const std::array<float, 4> wanted{1.23959f, 1.40903f, 1.35021f, 1.11484f};
  for (size_t row = 0; row < 2; ++row) {
    for (size_t lane = 0; lane < 4; ++lane) {
      EXPECT_NEAR(y[row * 16 * 256 + lane], wanted[lane], 1e-5) << row << " " << lane;
    }
  }
}

TEST(Rotate, EqualRowsStayEqualWhateverTheShape) {
  const Plan plan = plan_of(rotary(64, 64, 0, "interleaved"));
  for (const int64_t batch : {1, 2, 3}) {
    for (const int64_t length : {1, 2, 5}) {
      const Heads one = Heads::bshd(DType::float32, 1, length, 2, 64);
      std::vector<float> x;
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t e = 0; e < one.elements(); ++e) x.push_back(static_cast<float>(one.element(e)));
      }
      Heads single = one;
      ASSERT_TRUE(rotate(plan, single.view(), PositionView::range(6)).ok());
      ASSERT_TRUE(rotate(plan, HeadsView::bshd(x.data(), DType::float32, batch, length, 2, 64),
                         PositionView::range(6))
                      .ok());
      for (size_t e = 0; e < x.size(); ++e) {
        ASSERT_EQ(x[e], single.element(static_cast<int64_t>(e) % one.elements()));
      }
    }
  }
}

TEST(Rotate, EveryKindOfPositionsSaysTheSame) {
  const Plan plan = plan_of(rotary(32, 32, 0, "half_split"));
  for (const int64_t length : {1, 4}) {
    std::vector<int64_t> ids;
    std::vector<double> numbers;
    for (const int64_t start : {1000, 70000, -3}) {
      for (int64_t i = 0; i < length; ++i) {
        ids.push_back(start + i);
        numbers.push_back(static_cast<double>(start + i));
      }
    }
    const std::vector<int64_t> starts{1000, 70000, -3};
    const Heads before = Heads::bshd(DType::float32, 3, length, 2, 32);
    Heads by_ids = before;
    Heads by_starts = before;
    Heads by_numbers = before;
    Heads by_range = before;
    ASSERT_TRUE(rotate(plan, by_ids.view(), PositionView::ids(ids.data(), 3, length)).ok());
    ASSERT_TRUE(rotate(plan, by_starts.view(), PositionView::starts(starts)).ok());
    ASSERT_TRUE(
        rotate(plan, by_numbers.view(), PositionView::coordinates(numbers.data(), 1, 3, length))
            .ok());
    ASSERT_TRUE(rotate(plan, by_range.view(), PositionView::range(1000)).ok());
    EXPECT_EQ(by_ids, by_starts);
    EXPECT_NE(by_ids, by_range);
    for (int64_t h = 0; h < 2; ++h) EXPECT_EQ(by_ids.at(0, 0, h, 5), by_range.at(0, 0, h, 5));
    for (int64_t e = 0; e < before.elements(); ++e) {
      EXPECT_NEAR(by_ids.element(e), by_numbers.element(e), 1e-6);
    }
    // One start for all sequences.
    Heads by_one = before;
    ASSERT_TRUE(rotate(plan, by_one.view(), PositionView::starts({starts.data(), 1})).ok());
    EXPECT_EQ(by_one, by_range);
  }
}

TEST(Rotate, PartialRotaryLeavesTheOtherLanes) {
  for (const std::string_view layout : {"half_split", "interleaved"}) {
    for (const int64_t start : {0, 6, 46}) {
      const Plan plan = plan_of(rotary(80, 34, start, layout));
      const Heads before = Heads::bshd(DType::bfloat16, 2, 3, 2, 80);
      const auto turn = [](int64_t, int64_t i, int64_t pair) {
        return paper_turn(10000, pair, 34, static_cast<double>(100000 + i));
      };
      Heads after = before;
      ASSERT_TRUE(rotate(plan, after.view(), PositionView::range(100000)).ok());
      expect_turned(before, after, layout, start, 34, turn);
      Heads from = before;
      Heads to = Heads::bshd(DType::bfloat16, 2, 3, 2, 80, 99);
      ASSERT_TRUE(rotate_to(plan, from.view(), to.view(), PositionView::range(100000)).ok());
      EXPECT_EQ(to, after);
      EXPECT_EQ(from, before);
    }
  }
}

TEST(Rotate, NoLanesToTurnCopiesAll) {
  for (const std::string& spec : {rotary(16, 0, 0, "half_split"), std::string(R"({"method":"nope"})")}) {
    const Plan plan = plan_of(spec);
    const Heads before = Heads::bshd(DType::float16, 2, 3, 2, 16);
    Heads from = before;
    Heads to = Heads::bshd(DType::float16, 2, 3, 2, 16, 99);
    ASSERT_TRUE(rotate_to(plan, from.view(), to.view(), PositionView::range(5)).ok());
    EXPECT_EQ(to, before);
    ASSERT_TRUE(rotate(plan, to.view(), PositionView::range(5)).ok());
    EXPECT_EQ(to, before);
  }
}

/// q of a fused projection, sequences padded in memory, heads outside tokens: strides only.
TEST(Rotate, StridesAreMemoryAndNothingElse) {
  const Plan plan = plan_of(rotary(16, 16, 0, "half_split"));
  const auto ids = far_ids(2);
  const auto length = static_cast<int64_t>(far_positions.size());
  struct Strides {
    int64_t base, batch, token, head;
  };
  for (const Strides strides : {Strides{7, 7 * 16 * length + 13, 7 * 16, 16},
                                Strides{3, 3 * 16 * length, 16, 16 * length},
                                Strides{3 * 16 * length, -400, 17, 16 * length * 3}}) {
    HeadsView shape{nullptr, DType::float32, 2, length, 3, 16};
    shape.batch_stride = strides.batch;
    shape.length_stride = strides.token;
    shape.head_stride = strides.head;
    Heads before(shape, 40 * 16 * length);
    before.base = strides.base + (strides.batch < 0 ? -strides.batch : 0);
    Heads after = before;
    ASSERT_TRUE(rotate(plan, after.view(), PositionView::ids(ids.data(), 2, length)).ok());
    expect_turned(before, after, "half_split", 0, 16, [&](int64_t b, int64_t i, int64_t pair) {
      return paper_turn(10000, pair, 16,
                        static_cast<double>(ids[static_cast<size_t>(b * length + i)]));
    });
    int64_t changed = 0;
    for (int64_t e = 0; e < before.elements(); ++e) changed += before.element(e) != after.element(e);
    EXPECT_LE(changed, 2 * length * 3 * 16);
  }
}

TEST(Rotate, QueriesAndKeysTogetherEqualEachAlone) {
  const Plan plan = plan_of(rotary(128, 64, 64, "interleaved", 1e6));
  const std::vector<int64_t> ids = far_ids(3);
  const auto length = static_cast<int64_t>(far_positions.size());
  const PositionView positions = PositionView::ids(ids.data(), 3, length);
  const Heads query = Heads::bshd(DType::bfloat16, 3, length, 8, 128, 1);
  const Heads key = Heads::bshd(DType::float32, 3, length, 2, 128, 2);
  Heads together_q = query, together_k = key, alone_q = query, alone_k = key;
  const std::array both{together_q.view(), together_k.view()};
  ASSERT_TRUE(rotate(plan, both, positions).ok());
  ASSERT_TRUE(rotate(plan, alone_q.view(), positions).ok());
  ASSERT_TRUE(rotate(plan, alone_k.view(), positions).ok());
  EXPECT_EQ(together_q, alone_q);
  EXPECT_EQ(together_k, alone_k);
}

// The map with its magnitude, and the inverse of the whole map.
TEST(Rotate, TheMagnitudeIsAppliedAndUndone) {
  const Plan plan = plan_of(
      R"({"method":"rotary","head_dim":64,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"linear","factor":4}})");
  const Plan yarn = plan_of(
      R"({"method":"rotary","head_dim":64,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"yarn","factor":4,"original_max_position_embeddings":32768}})");
  ASSERT_NEAR(yarn.rotations[0].magnitude, 1.1386294361, 1e-9);
  const Heads before = Heads::bshd(DType::float32, 2, 3, 2, 64);
  Heads after = before;
  ASSERT_TRUE(rotate(plan, after.view(), PositionView::range(40000)).ok());
  expect_turned(before, after, "half_split", 0, 64, [](int64_t, int64_t i, int64_t pair) {
    return paper_turn(10000, pair, 64, static_cast<double>(40000 + i) / 4);
  });
  Heads scaled = before;
  ASSERT_TRUE(rotate(yarn, scaled.view(), PositionView::range(0)).ok());
  EXPECT_NEAR(scaled.at(1, 0, 0, 7), 1.1386294361 * before.at(1, 0, 0, 7), 1e-6);
  ASSERT_TRUE(rotate(yarn, scaled.view(), PositionView::range(0), {Direction::inverse}).ok());
  for (int64_t e = 0; e < before.elements(); ++e) {
    EXPECT_NEAR(scaled.element(e), before.element(e), 1e-6);
  }
}

// What Hugging Face computes: float32 frequency, float32 product, cosine and sine of that.
TEST(Rotate, Float32AnglesAreThoseOfFloat32Arithmetic) {
  const Plan plan = plan_of(rotary(64, 64, 0, "half_split"), 1, AngleMode::float32);
  const Heads before = Heads::bshd(DType::float32, 2, 2, 3, 64);
  Heads after = before;
  ASSERT_TRUE(rotate(plan, after.view(), PositionView::range(131071)).ok());
  expect_turned(before, after, "half_split", 0, 64, [](int64_t, int64_t i, int64_t pair) {
    const auto inv_freq = static_cast<float>(std::pow(10000.0, -static_cast<double>(pair) / 32));
    const float angle = static_cast<float>(131071 + i) * inv_freq;
    return Turn{std::cos(static_cast<double>(angle)), std::sin(static_cast<double>(angle))};
  });
}

TEST(Rotate, XposGrowsQueriesAndShrinksKeys) {
  for (const std::string_view layout : {"half_split", "interleaved"}) {
    const Plan plan = plan_of(fmt::format(
        R"({{"method":"xpos","head_dim":48,"layout":"{}","base":10000,"scale_base":512,"center":10}})",
        layout));
    for (const HeadRole role : {HeadRole::query, HeadRole::key}) {
      const double sign = role == HeadRole::query ? 1 : -1;
      for (const int64_t length : {1, 300}) {
        const Heads before = Heads::bshd(DType::float32, 2, length, 2, 48);
        Heads after = before;
        ASSERT_TRUE(rotate(plan, after.view(), PositionView::range(900), {Direction::forward, role})
                        .ok());
        expect_turned(before, after, layout, 0, 48, [&](int64_t, int64_t i, int64_t pair) {
          Turn turn = paper_turn(10000, pair, 48, static_cast<double>(900 + i));
          const double zeta = (2 * static_cast<double>(pair) + 0.4 * 48) / (1.4 * 48);
          const double factor = std::pow(zeta, sign * static_cast<double>(890 + i) / 512);
          return Turn{factor * turn.cos, factor * turn.sin};
        });
        ASSERT_TRUE(rotate(plan, after.view(), PositionView::range(900), {Direction::inverse, role})
                        .ok());
        for (int64_t e = 0; e < before.elements(); ++e) {
          ASSERT_NEAR(after.element(e), before.element(e), 2e-6);
        }
      }
    }
  }
}

TEST(Rotate, XposNeedsARoleAndAPlaceInFloat32) {
  const Plan plan = plan_of(R"({"method":"xpos","head_dim":8,"layout":"half_split","base":10000})");
  Heads heads = Heads::bshd(DType::float32, 1, 2, 1, 8);
  EXPECT_EQ(rotate(plan, heads.view(), PositionView::range(0)).error().message,
            "rotate: the plan's xpos grows queries and shrinks keys: expected a role");
  EXPECT_EQ(rotate(plan, heads.view(), PositionView::range(40000), {{}, HeadRole::key})
                .error()
                .message,
            "rotate: position 40000 (row 0, token 0): expected -35556 to 35556: beyond, the decay "
            "with scale_base 512 and center 0 leaves float32's range");
}

TEST(Rotate, MropeReadsTheAxisOfEachPair) {
  const Plan plan = plan_of(
      R"({"method":"mrope","head_dim":16,"layout":"half_split","base":10000,
          "mrope_section":[2,3,3],"section_layout":"chunked"})");
  const std::vector<int64_t> ids{5, 70000, 9, 131071,  6, 1, 2, 3,  7, 8, 1048575, 2};  // [3, 2, 2]
  const std::array<int64_t, 8> axis_of{0, 0, 1, 1, 1, 2, 2, 2};
  const Heads before = Heads::bshd(DType::float32, 2, 2, 2, 16);
  Heads after = before;
  ASSERT_TRUE(rotate(plan, after.view(), PositionView::axes(ids.data(), 3, 2, 2)).ok());
  expect_turned(before, after, "half_split", 0, 16, [&](int64_t b, int64_t i, int64_t pair) {
    const int64_t axis = axis_of[static_cast<size_t>(pair)];
    return paper_turn(10000, pair, 16,
                      static_cast<double>(ids[static_cast<size_t>(axis * 4 + b * 2 + i)]));
  });
}

// Fault: running ids for image patches, which nothing else would notice.
TEST(Rotate, OneAxisForAPlanOfThreeMustBeSaid) {
  const Plan plan = plan_of(
      R"({"method":"mrope","head_dim":16,"layout":"half_split","base":10000,
          "mrope_section":[2,3,3],"section_layout":"chunked"})");
  const Plan text = plan_of(rotary(16, 16, 0, "half_split"));
  Heads heads = Heads::bshd(DType::float32, 2, 2, 2, 16);
  Heads wanted = heads;
  EXPECT_EQ(rotate(plan, heads.view(), PositionView::range(4)).error().message,
            "rotate: positions have 1 axes and the plan has 3: expected as many (same_on_axes "
            "gives text the same position on all)");
  ASSERT_TRUE(rotate(plan, heads.view(), PositionView::range(4).same_on_axes(3)).ok());
  ASSERT_TRUE(rotate(text, wanted.view(), PositionView::range(4)).ok());
  EXPECT_EQ(heads, wanted);
}

TEST(Rotate, PatchesMayStandAtFractions) {
  const Plan plan = plan_of(
      R"({"method":"axial_rotary","head_dim":16,"layout":"interleaved","base":100,
          "axis_layout":"parts"})");
  ASSERT_EQ(plan.rotations.size(), 2u);
  const std::vector<double> at{0.25, 17.5, -3.75, 1e6 + 0.125,  0.5, -0.5, 31.875, 2.0};  // [2, 2, 2]
  const Heads before = Heads::bshd(DType::float32, 2, 2, 3, 16);
  Heads from = before;
  Heads after = Heads::bshd(DType::float32, 2, 2, 3, 16, 5);
  ASSERT_TRUE(
      rotate_to(plan, from.view(), after.view(), PositionView::coordinates(at.data(), 2, 2, 2)).ok());
  // Each half of the lanes is a rotation of 8 lanes by its own axis.
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t lane = 0; lane < 16; lane += 2) {
        const int64_t axis = lane / 8;
        const Turn turn = paper_turn(100, lane % 8 / 2, 8, at[static_cast<size_t>(axis * 4 + b * 2 + i)]);
        const double x = before.at(b, i, 2, lane);
        const double y = before.at(b, i, 2, lane + 1);
        EXPECT_NEAR(after.at(b, i, 2, lane), x * turn.cos - y * turn.sin, 1e-6);
        EXPECT_NEAR(after.at(b, i, 2, lane + 1), y * turn.cos + x * turn.sin, 1e-6);
      }
    }
  }
}

// Fault: a plan for a short sequence turns the positions of a longer one by the wrong frequencies.
TEST(Rotate, AScheduleThatLooksAtTheLengthServesItsOwn) {
  const std::string dynamic =
      R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"dynamic","factor":2,"original_max_position_embeddings":4096}})";
  Heads heads = Heads::bshd(DType::float32, 1, 2, 1, 8);
  const Plan plan = plan_of(dynamic, 100);
  EXPECT_TRUE(rotate(plan, heads.view(), PositionView::range(4094)).ok());
  EXPECT_EQ(rotate(plan, heads.view(), PositionView::range(4095)).error().message,
            "rotate: position 4096 (row 0, token 1): the plan was made for context_length 100, and "
            "beyond position 4095 its frequencies change with the length: expected a plan for the "
            "longer sequence");
  EXPECT_TRUE(rotate(plan_of(dynamic, 8192), heads.view(), PositionView::range(8190)).ok());
  EXPECT_FALSE(rotate(plan_of(dynamic, 8192), heads.view(), PositionView::range(8191)).ok());
  EXPECT_TRUE(rotate(plan_of(rotary(8, 8, 0, "half_split"), 100), heads.view(),
                     PositionView::range(1 << 30))
                  .ok());
}

TEST(Rotate, ErrorsNameWhatIsWrong) {
  const Plan plan = plan_of(rotary(8, 8, 0, "half_split"));
  Heads heads = Heads::bshd(DType::float32, 3, 20, 2, 8);
  const Heads before = heads;
  const HeadsView view = heads.view();
  const auto message = [&](HeadsView changed, const PositionView& positions) {
    const Status status = rotate(plan, changed, positions);
    return status.ok() ? std::string("ok") : status.error().message;
  };
  const PositionView zero = PositionView::range(0);
  const std::vector<int64_t> ids(60, 0);
  std::vector<int64_t> far = ids;
  far[57] = int64_t{1} << 31;
  EXPECT_EQ(message(view, PositionView::ids(far.data(), 3, 20)),
            "rotate: position 2147483648 (row 2, token 17): expected -2147483647 to 2147483647");
  EXPECT_EQ(message(view, PositionView::range(max_position)),
            "rotate: position 2147483648 (row 0, token 1): expected -2147483647 to 2147483647");
  EXPECT_EQ(message(view, PositionView::starts(std::vector<int64_t>{0, 1, -max_position - 1})),
            "rotate: position -2147483648 (row 2, token 0): expected -2147483647 to 2147483647");
  EXPECT_EQ(message(view, PositionView::range(INT64_MAX)),
            "rotate: position 9223372036854775807 (row 0, token 0): expected -2147483647 to "
            "2147483647");
  std::vector<double> numbers(60, 0.5);
  numbers[25] = std::nan("");
  EXPECT_EQ(message(view, PositionView::coordinates(numbers.data(), 1, 3, 20)),
            "rotate: position nan (row 1, token 5): expected -2147483647 to 2147483647");
  EXPECT_EQ(message(view, PositionView::ids(ids.data(), 3, 19)),
            "rotate: positions have 19 tokens: expected 20");
  EXPECT_EQ(message(view, PositionView::ids(ids.data(), 2, 20)),
            "rotate: positions have 2 rows: expected 3, or 1 for all");
  EXPECT_EQ(message(view, PositionView::ids(nullptr, 3, 20)), "rotate: positions have no data");
  HeadsView changed = view;
  changed.head_dim = 16;
  EXPECT_EQ(message(changed, zero), "rotate: head_dim is 16: expected the plan's 8");
  changed = view;
  changed.data = nullptr;
  EXPECT_EQ(message(changed, zero), "rotate: the tensor has no data");
  changed.length = 0;
  EXPECT_EQ(message(changed, zero), "ok");
  changed = view;
  changed.heads = -1;
  EXPECT_EQ(message(changed, zero), "rotate: heads is -1: expected 0 or more");
  changed = view;
  changed.length_stride = INT64_MAX / 8;
  EXPECT_EQ(message(changed, zero),
            "rotate: length is 20 with stride 1152921504606846975: expected a tensor of less than "
            "2^63 bytes");
  changed = view;
  changed.batch_stride = 0;
  changed.batch = INT64_MAX / 2;
  EXPECT_NE(message(changed, zero), "ok");
  HeadsView shorter = view;
  shorter.length = 19;
  EXPECT_EQ(rotate(plan, std::array{view, shorter}, zero).error().message,
            "rotate: a tensor of batch 3 and length 19 beside one of batch 3 and length 20: expected "
            "equal ones");
  EXPECT_EQ(rotate_to(plan, view, shorter, zero).error().message,
            "rotate_to: from is float32 [3, 20, 2, 8] and to is float32 [3, 19, 2, 8]: expected "
            "equal shapes and dtypes");
  EXPECT_EQ(heads, before);
  EXPECT_TRUE(rotate(plan, std::span<const HeadsView>(), zero).ok());
}

}  // namespace
}  // namespace hodometer
