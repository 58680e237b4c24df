#include <gtest/gtest.h>

#include "hodometer/ops/seen_keys-inl.h"

namespace hodometer::internal {
namespace {

NumberRow list_of(const std::vector<int64_t>& numbers) { return {0, numbers.data(), 1}; }
SegmentRow list_of(const std::vector<SegmentId>& segments) { return {segments.data(), 1}; }

std::vector<SegmentId> segments_of(const std::vector<int64_t>& numbers) {
  std::vector<SegmentId> segments;
  for (const int64_t number : numbers) segments.push_back(SegmentId(number));
  return segments;
}

/// What every query sees, asked key by key, lies within its range; `whole` says whether it fills
/// it.
void expect_consistent(const SeenKeys& seen, int64_t queries, int64_t keys) {
  bool whole = true;
  for (int64_t query = 0; query < queries; ++query) {
    int64_t first = -1, last = -2, count = 0;
    for (int64_t key = 0; key < keys; ++key) {
      if (!seen.sees(query, key)) continue;
      if (first < 0) first = key;
      last = key;
      ++count;
    }
    const KeyRange& range = seen.ranges()[static_cast<size_t>(query)];
    if (count == 0) {
      EXPECT_GE(range.begin, range.end) << query;
    } else {
      EXPECT_EQ(range.begin, first) << query;
      EXPECT_EQ(range.end, last + 1) << query;
    }
    whole = whole && count == last - first + 1;
  }
  EXPECT_EQ(seen.whole(), whole);
}

TEST(SeenKeys, RunsUnderEveryMask) {
  const std::vector<Mask> masks{CausalMask(),      BidirectionalMask(), WindowMask{3, 2},
                                sliding_window(4), ChunkedMask{5},      PrefixMask{6}};
  for (const Mask& mask : masks) {
    for (const int64_t first : {0, 3, 20, 40}) {
      const SeenKeys seen(mask, {{first}, {}, 11}, {{0}, {}, 23});
      expect_consistent(seen, 11, 23);
      EXPECT_TRUE(seen.whole());
    }
  }
}

TEST(SeenKeys, PackedSequencesSeeTheirOwn) {
  const std::vector<int64_t> positions{0, 1, 2, 0, 1, 0, 1, 2, 3};
  const std::vector<SegmentId> segments = segments_of({1, 1, 1, 2, 2, 3, 3, 3, 3});
  const MaskedTokens tokens{list_of(positions), list_of(segments), 9};
  const SeenKeys seen(CausalMask(), tokens, tokens);
  expect_consistent(seen, 9, 9);
  EXPECT_TRUE(seen.whole());
  EXPECT_EQ(seen.ranges()[4].begin, 3);
  EXPECT_EQ(seen.ranges()[4].end, 5);
}

TEST(SeenKeys, PaddingSeesNothingAndIsNotSeen) {
  const std::vector<int64_t> positions{0, 0, 0, 1, 2};
  const std::vector<SegmentId> segments = segments_of({0, 0, 1, 1, 1});
  const MaskedTokens tokens{list_of(positions), list_of(segments), 5};
  const SeenKeys seen(BidirectionalMask(), tokens, tokens);
  expect_consistent(seen, 5, 5);
  EXPECT_GE(seen.ranges()[0].begin, seen.ranges()[0].end);
  EXPECT_EQ(seen.ranges()[2].begin, 2);
}

TEST(SeenKeys, GapsAndShuffledKeys) {
  const std::vector<int64_t> keys{9, 0, 4, 1, 2, 30, 31, 3};
  const std::vector<int64_t> queries{2, 31, 0, 8};
  const SeenKeys seen(CausalMask(), {list_of(queries), {}, 4}, {list_of(keys), {}, 8});
  expect_consistent(seen, 4, 8);
  EXPECT_FALSE(seen.whole());
}

TEST(SeenKeys, InterleavedSegments) {
  const std::vector<int64_t> positions{0, 0, 1, 1, 2, 2};
  const std::vector<SegmentId> segments = segments_of({1, 2, 1, 2, 1, 2});
  const MaskedTokens tokens{list_of(positions), list_of(segments), 6};
  const SeenKeys seen(CausalMask(), tokens, tokens);
  expect_consistent(seen, 6, 6);
  EXPECT_FALSE(seen.whole());
}

TEST(NumberRow, AListThatCountsUpIsARun) {
  const std::vector<int64_t> run{7, 8, 9}, other{7, 8, 10};
  EXPECT_TRUE(number_row(PositionView::shared_ids(run), 0, 3).is_run());
  EXPECT_EQ(number_row(PositionView::shared_ids(run), 0, 3)[2], 9);
  EXPECT_FALSE(number_row(PositionView::shared_ids(other), 0, 3).is_run());
  EXPECT_EQ(number_row(PositionView::shared_ids(other), 0, 3)[2], 10);
  const std::vector<int64_t> starts{3, 40};
  EXPECT_EQ(number_row(PositionView::starts(starts), 1, 5)[2], 42);
  const std::vector<int64_t> batch{1, 2, 5, 6};
  EXPECT_EQ(number_row(PositionView::ids(batch.data(), 2, 2), 1, 2)[1], 6);
}

}  // namespace
}  // namespace hodometer::internal
