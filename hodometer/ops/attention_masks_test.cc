// Packed sequences, padding, gaps in positions and queries that see nothing.

#include <gtest/gtest.h>

#include <numeric>

#include "hodometer/ops/attention_cases_test.h"
#include "hodometer/position/position_ids.h"

namespace hodometer {
namespace {

using testing::attention_methods;
using testing::AttentionCase;
using testing::AttentionMethod;
using testing::AttentionShape;
using testing::AttentionTensors;
using testing::case_of;
using testing::expect_right;
using testing::mask_cases;
using testing::MaskCase;

// Three sequences of 5, 40 and 17 tokens in one row, positions from 0 in each.
struct Packed {
  std::vector<int64_t> positions;
  std::vector<SegmentId> segments;
  Packed() {
    for (const auto& [segment, length] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 5}, {2, 40}, {3, 17}}) {
      for (int64_t i = 0; i < length; ++i) {
        positions.push_back(i);
        segments.push_back(SegmentId(segment));
      }
    }
  }
  int64_t length() const { return static_cast<int64_t>(positions.size()); }
};

TEST(AttentionMasks, PackedSequencesUnderEveryMethodAndMask) {
  const Packed packed;
  const AttentionShape s{packed.length(), packed.length(), 4, 2, 20, 12};
  for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
    for (const MaskCase& mask : mask_cases) {
      AttentionCase c = case_of(method, s, 0);
      c.query_positions = c.key_positions = packed.positions;
      AttentionOptions options;
      options.mask = mask.mask;
      options.query_segments = options.key_segments =
          SegmentView::contiguous(packed.segments.data(), 1, packed.length());
      const auto in_mask = testing::seen_by(mask.mask, c);
      c.sees = [&](int64_t query, int64_t key) {
        return packed.segments[static_cast<size_t>(query)] ==
                   packed.segments[static_cast<size_t>(key)] &&
               in_mask(query, key);
      };
      expect_right(s, c, options, method.name + " " + mask.name);
      if (HasFatalFailure()) return;
    }
  }
}

// A packed row gives what its sequences give alone.
TEST(AttentionMasks, PackedEqualsAlone) {
  const Packed packed;
  const AttentionShape s{packed.length(), packed.length(), 4, 2, 32, 32};
  for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
    SCOPED_TRACE(method.name);
    const AttentionCase c = case_of(method, s, 0);
    const Plan plan = make_plan(c.spec, s.k_length).value();
    AttentionOptions options;
    options.learned = {c.buckets, c.key_rows, c.value_rows};
    AttentionTensors alone(s), together(s);
    const HeadsView q = alone.q.view(), k = alone.k.view(), v = alone.v.view(),
                    out = alone.out.view();
    const auto tokens = [](HeadsView view, int64_t first, int64_t count) {
      view.data = static_cast<float*>(view.data) + first * view.length_stride;
      view.length = count;
      return view;
    };
    for (const auto& [first, count] :
         std::vector<std::pair<int64_t, int64_t>>{{0, 5}, {5, 40}, {45, 17}}) {
      ASSERT_TRUE(attention(plan, tokens(q, first, count), tokens(k, first, count),
                            tokens(v, first, count), tokens(out, first, count), options)
                      .ok());
    }
    options.query_positions = options.key_positions = PositionView::shared_ids(packed.positions);
    options.query_segments = options.key_segments =
        SegmentView::contiguous(packed.segments.data(), 1, packed.length());
    ASSERT_TRUE(together.run(plan, options).ok());
    for (int64_t i = 0; i < alone.out.elements(); ++i) {
      ASSERT_NEAR(together.out.element(i), alone.out.element(i), 4e-6) << i;
    }
  }
}

// Keys that a cache dropped leave gaps; keys of a shuffled cache stand in any order.
TEST(AttentionMasks, GapsAndAnyOrderOfKeys) {
  for (const int64_t queries : {1, 30}) {
    const AttentionShape s{queries, 90, 4, 2, 20, 12};
    for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
      for (const MaskCase& mask : mask_cases) {
        AttentionCase gaps = case_of(method, s, 0);
        for (size_t n = 0; n < gaps.key_positions.size(); ++n) {
          gaps.key_positions[n] += n < 4 ? 0 : 100;
        }
        for (int64_t& position : gaps.query_positions) position += 100;
        gaps.context_length += 100;
        AttentionCase shuffled = gaps;
        for (size_t n = 0; n < shuffled.key_positions.size(); ++n) {
          shuffled.key_positions[n] = gaps.key_positions[n * 7 % 90];
        }
        AttentionOptions options;
        options.mask = mask.mask;
        gaps.sees = testing::seen_by(mask.mask, gaps);
        shuffled.sees = testing::seen_by(mask.mask, shuffled);
        expect_right(s, gaps, options, method.name + " gaps " + mask.name);
        expect_right(s, shuffled, options, method.name + " shuffled " + mask.name);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Left padding: nothing of a sequence depends on how much of it there is.
TEST(AttentionMasks, PaddingChangesNothing) {
  const int64_t length = 30, padding = 11;
  for (const AttentionMethod& method : attention_methods(32, 4)) {
    SCOPED_TRACE(method.name);
    const AttentionShape padded{length + padding, length + padding, 4, 2, 32, 32};
    const AttentionCase c = case_of(method, padded, 0);
    const Plan plan = make_plan(c.spec, padded.k_length).value();
    std::vector<SegmentId> segments(static_cast<size_t>(length + padding), SegmentId(1));
    std::vector<int64_t> positions(segments.size(), 0);
    std::fill_n(segments.begin(), padding, SegmentId::padding);
    std::iota(positions.begin() + padding, positions.end(), 0);
    AttentionTensors with(padded), without(padded);
    AttentionOptions options;
    options.learned = {c.buckets, c.key_rows, c.value_rows};
    const auto tail = [&](const HeadsView& view) {
      HeadsView tokens = view;
      tokens.data = static_cast<float*>(view.data) + padding * view.length_stride;
      tokens.length = length;
      return tokens;
    };
    ASSERT_TRUE(attention(plan, tail(without.q.view()), tail(without.k.view()),
                          tail(without.v.view()), tail(without.out.view()), options)
                    .ok());
    options.query_positions = options.key_positions = PositionView::shared_ids(positions);
    options.query_segments = options.key_segments =
        SegmentView::contiguous(segments.data(), 1, length + padding);
    ASSERT_TRUE(with.run(plan, options).ok());
    for (int64_t i = 0; i < length + padding; ++i) {
      for (int64_t h = 0; h < 4; ++h) {
        for (int64_t lane = 0; lane < 32; ++lane) {
          const double want = i < padding ? 0 : without.out.at(0, i, h, lane);
          ASSERT_NEAR(with.out.at(0, i, h, lane), want, i < padding ? 0 : 3e-6);
        }
        if (i < padding) {
          EXPECT_EQ(with.log_sums[static_cast<size_t>(i * 4 + h)], -INFINITY);
        }
      }
    }
  }
}

// Keys that no query sees are not read, whatever lies there.
TEST(AttentionMasks, KeysThatNobodySeesAreNotRead) {
  for (const int64_t queries : {1, 20}) {
    AttentionTensors t({queries, 600, 2, 1, 16, 16});
    const HeadsView k = t.k.view(), v = t.v.view();
    const int64_t first_seen = 600 - queries - 3;
    for (int64_t i = 0; i < first_seen * 16; ++i) {
      static_cast<float*>(k.data)[i] = static_cast<float*>(v.data)[i] = NAN;
    }
    AttentionOptions options;
    options.mask = sliding_window(4);
    ASSERT_TRUE(t.run(testing::plan_of(R"({"method":"alibi","num_heads":2})"), options).ok());
    for (int64_t i = 0; i < t.out.elements(); ++i) ASSERT_FALSE(std::isnan(t.out.element(i)));
  }
}

// Images share a time, so a causal mask goes by the order of the tokens.
TEST(AttentionMasks, SeveralAxesAreOrderedByToken) {
  const Plan plan = testing::plan_of(
      R"({"method":"mrope","head_dim":32,"layout":"half_split","base":10000,
          "mrope_section":[8,4,4],"section_layout":"chunked"})");
  const std::vector<int64_t> same(3 * 20, 5);
  AttentionTensors t({20, 20, 2, 1, 32, 32}), nope({20, 20, 2, 1, 32, 32});
  AttentionOptions options;
  options.query_positions = options.key_positions = PositionView::axes(same.data(), 3, 1, 20);
  const Status done = t.run(plan, options);
  ASSERT_TRUE(done.ok()) << done.error().message;
  // All at one place: rotations cancel, and what is left is the causal mask.
  ASSERT_TRUE(nope.run(testing::plan_of(R"({"method":"nope"})"), {}).ok());
  for (int64_t i = 0; i < t.out.elements(); ++i) {
    ASSERT_NEAR(t.out.element(i), nope.out.element(i), 1e-5);
  }
}

}  // namespace
}  // namespace hodometer
