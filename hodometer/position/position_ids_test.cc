#include "hodometer/position/position_ids.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

namespace hodometer {
namespace {

using Ids = std::vector<int64_t>;

nlohmann::json golden() {
  std::ifstream file(HODO_GOLDEN_DIR "/positions.json");
  return nlohmann::json::parse(file);
}

Ids numbers(const std::vector<SegmentId>& segments) {
  Ids out;
  for (const SegmentId segment : segments) out.push_back(static_cast<int64_t>(segment));
  return out;
}

std::vector<SegmentId> segments_of(const Ids& numbers) {
  std::vector<SegmentId> out;
  for (const int64_t number : numbers) out.push_back(SegmentId(number));
  return out;
}

// Fault: start and step broadcast to [batch] when the length is 1.
TEST(IdsFromStarts, KeepBatchAndLengthApart) {
  EXPECT_EQ(*ids_from_starts(Ids{3, 7}, 1), (Ids{3, 7}));
  EXPECT_EQ(*ids_from_starts(Ids{3, 7}, 2), (Ids{3, 4, 7, 8}));
}

// Fault: a result kept under its length alone gives the second call the first call's offset.
TEST(IdsFromStarts, ForgetTheCallBefore) {
  EXPECT_EQ(*ids_from_starts(Ids{0}, 4), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(*ids_from_starts(Ids{3}, 4), (Ids{3, 4, 5, 6}));
}

TEST(IdsFromStarts, RefuseWhatIsNoSize) {
  EXPECT_EQ(ids_from_starts(Ids{0, 0}, -1).error().message,
            "ids_from_starts: 2 rows of -1 tokens: expected 0 to 2147483648 ids in all");
  EXPECT_FALSE(ids_from_starts(Ids{0, 0}, int64_t{1} << 31).ok());
  EXPECT_FALSE(ids_from_starts(Ids{std::numeric_limits<int64_t>::max()}, 2).ok());
}

// Fault: one position vector for all rows of a left-padded batch, so that only the longest is
// right.
TEST(IdsFromMask, EveryRowCountsItsOwnTokens) {
  const MaskedIds made = *ids_from_mask(std::vector<uint8_t>{1, 1, 1, 1, 1, 0, 0, 1, 1, 1}, 5);
  EXPECT_EQ(made.ids, (Ids{0, 1, 2, 3, 4, 0, 0, 0, 1, 2}));
  EXPECT_EQ(made.next, (Ids{5, 3}));
}

// Fault: the next token of a right-padded row stands at the padded length.
TEST(IdsFromMask, NextIsPastTheLastValidToken) {
  EXPECT_EQ(ids_from_mask(std::vector<uint8_t>{1, 1, 1, 0, 0}, 5)->next, Ids{3});
}

TEST(IdsFromMask, AgreesWithHuggingFace) {
  const nlohmann::json cases = golden()["mask"];
  ASSERT_FALSE(cases.empty());
  for (const auto& one : cases) {
    const auto mask = one["attention_mask"].get<std::vector<uint8_t>>();
    EXPECT_EQ(ids_from_mask(mask, static_cast<int64_t>(mask.size()))->ids,
              one["position_ids"].get<Ids>())
        << one;
  }
}

// Fault: a packing mask {1, 1, 2, 2, 2, 0} compared with 1.
TEST(IdsFromMask, RefusesSegments) {
  EXPECT_EQ(ids_from_mask(std::vector<uint8_t>{1, 1, 2, 2, 2, 0}, 6).error().message,
            "ids_from_mask: the mask is 2 at row 0, token 2: expected 0 or 1 (for segments use "
            "ids_from_segments)");
  EXPECT_FALSE(ids_from_mask(std::vector<uint8_t>{1, 1, 1}, 2).ok());
  EXPECT_FALSE(ids_from_mask(std::vector<uint8_t>{1}, 0).ok());
}

RC_GTEST_PROP(IdsFromMask, BatchEqualsSingleRows, ()) {
  const auto length = *rc::gen::inRange<int64_t>(1, 9);
  const auto batch = *rc::gen::inRange<size_t>(1, 5);
  const auto mask = *rc::gen::container<std::vector<uint8_t>>(batch * static_cast<size_t>(length),
                                                              rc::gen::inRange<uint8_t>(0, 2));
  const MaskedIds whole = *ids_from_mask(mask, length);
  for (size_t b = 0; b < batch; ++b) {
    const std::span<const uint8_t> row =
        std::span(mask).subspan(b * static_cast<size_t>(length), static_cast<size_t>(length));
    const MaskedIds single = *ids_from_mask(row, length);
    RC_ASSERT(std::equal(single.ids.begin(), single.ids.end(),
                         whole.ids.begin() + static_cast<int64_t>(b) * length));
    RC_ASSERT(single.next[0] == whole.next[b]);
    RC_ASSERT(single.next[0] == std::accumulate(row.begin(), row.end(), int64_t{0}));
  }
}

// Fault: positions that run on over packed documents; positions without the mask that goes with
// them.
TEST(PackedIds, EverySequenceBeginsAtZeroAndHasASegment) {
  const PackedIds made = *packed_ids(Ids{0, 2, 5});
  EXPECT_EQ(made.ids, (Ids{0, 1, 0, 1, 2}));
  EXPECT_EQ(numbers(made.segments), (Ids{1, 1, 2, 2, 2}));
  EXPECT_EQ(packed_ids(Ids{0, 20, 40})->ids[20], 0);
  EXPECT_EQ(packed_ids(Ids{0, 0, 1})->segments[0], SegmentId(2));
  EXPECT_TRUE(packed_ids(Ids{0})->ids.empty());
}

TEST(PackedIds, AgreesWithHuggingFace) {
  const nlohmann::json cases = golden()["packed"];
  ASSERT_FALSE(cases.empty());
  for (const auto& one : cases) {
    const PackedIds made = *packed_ids(one["cu_seq_lens"].get<Ids>());
    EXPECT_EQ(made.ids, one["position_ids"].get<Ids>()) << one;
    EXPECT_EQ(*ids_from_segments(made.segments), made.ids) << one;
  }
}

TEST(PackedIds, RefusesWhatIsNotCumulative) {
  EXPECT_EQ(packed_ids(Ids{1, 2}).error().message,
            "packed_ids: cu_seqlens begins with 1: expected it to begin with 0");
  EXPECT_EQ(packed_ids(Ids{0, 5, 3}).error().message,
            "packed_ids: cu_seqlens[2] is 3 after 5: expected ascending lengths");
  EXPECT_FALSE(packed_ids(Ids{}).ok());
  EXPECT_FALSE(packed_ids(Ids{0, int64_t{1} << 40}).ok());
}

TEST(IdsFromSegments, RestartWithEachSegment) {
  EXPECT_EQ(*ids_from_segments(segments_of({1, 1, 2, 2, 2, 0})), (Ids{0, 1, 0, 1, 2, 0}));
  EXPECT_EQ(*ids_from_segments(segments_of({0, 0, 7, 7, 3})), (Ids{0, 0, 0, 1, 0}));
}

TEST(IdsFromSegments, RefuseASegmentInTwoParts) {
  EXPECT_EQ(ids_from_segments(segments_of({1, 2, 1})).error().message,
            "ids_from_segments: segment 1 comes back at token 2: expected its tokens to lie "
            "together");
  EXPECT_FALSE(ids_from_segments(segments_of({1, 0, 1})).ok());
  EXPECT_FALSE(ids_from_segments(segments_of({-1})).ok());
}

// Fault: a decoding query that stands at 0, because its offset was read from a moving counter.
TEST(IdsAlignedToEnd, TheLastQueryMeetsTheLastKey) {
  EXPECT_EQ(*ids_aligned_to_end(1, 6), Ids{5});
  EXPECT_EQ(*ids_aligned_to_end(3, 3), (Ids{0, 1, 2}));
  EXPECT_TRUE(ids_aligned_to_end(0, 4)->empty());
  EXPECT_EQ(ids_aligned_to_end(4, 3).error().message,
            "ids_aligned_to_end: q_len 4 and k_len 3: expected 0 <= q_len <= k_len");
}

// Fault: a counter advanced before its use, so that drafts stand at 8 and 9.
TEST(DraftTreeIds, FollowTheSettledTokens) {
  EXPECT_EQ(*draft_tree_ids(Ids{-1, 0}, 7), (Ids{7, 8}));
  EXPECT_EQ(*draft_tree_ids(Ids{-1, -1, 0, 0, 1, 4}, 100), (Ids{100, 100, 101, 101, 101, 102}));
}

TEST(DraftTreeIds, RefuseWhatIsNoTree) {
  EXPECT_EQ(draft_tree_ids(Ids{-1, 1}, 7).error().message,
            "draft_tree_ids: parents[1] is 1: expected -1 to 0");
  EXPECT_FALSE(draft_tree_ids(Ids{-2}, 7).ok());
  EXPECT_FALSE(draft_tree_ids(Ids{-1}, -1).ok());
}

// Fault: shards of packed sequences that reuse the first sequence's positions.
TEST(CpPositions, CutEverySequence) {
  const ShardIds packed = *cp_positions(Ids{0, 4, 8}, 2, 0, ContextSplit::zigzag);
  EXPECT_EQ(packed.tokens, (Ids{0, 3, 4, 7}));
  EXPECT_EQ(packed.ids, (Ids{0, 3, 0, 3}));
  EXPECT_EQ(numbers(packed.segments), (Ids{1, 1, 2, 2}));
  EXPECT_EQ(cp_positions(Ids{0, 8}, 2, 0, ContextSplit::zigzag)->ids, (Ids{0, 1, 6, 7}));
  EXPECT_EQ(cp_positions(Ids{0, 8}, 2, 1, ContextSplit::zigzag)->ids, (Ids{2, 3, 4, 5}));
  EXPECT_EQ(cp_positions(Ids{0, 8}, 2, 1, ContextSplit::contiguous)->ids, (Ids{4, 5, 6, 7}));
}

TEST(CpPositions, RefuseLengthsThatDoNotDivide) {
  EXPECT_EQ(cp_positions(Ids{0, 8, 18}, 2, 0, ContextSplit::zigzag).error().message,
            "cp_positions: sequence 1 has 10 tokens: expected a multiple of 4 for 2 ranks");
  EXPECT_TRUE(cp_positions(Ids{0, 8, 18}, 2, 0, ContextSplit::contiguous).ok());
  EXPECT_EQ(cp_positions(Ids{0, 8}, 2, 2, ContextSplit::zigzag).error().message,
            "cp_positions: rank 2 of 2: expected 0 to ranks - 1");
}

RC_GTEST_PROP(CpPositions, AllRanksTogetherAreTheWhole, ()) {
  const auto ranks = *rc::gen::inRange<int64_t>(1, 6);
  const auto split = *rc::gen::element(ContextSplit::contiguous, ContextSplit::zigzag);
  const auto pieces = *rc::gen::container<Ids>(rc::gen::inRange<int64_t>(0, 4));
  Ids cu_seqlens{0};
  for (const int64_t piece : pieces) cu_seqlens.push_back(cu_seqlens.back() + piece * 2 * ranks);
  const PackedIds whole = *packed_ids(cu_seqlens);

  std::vector<int> seen(whole.ids.size(), 0);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const ShardIds shard = *cp_positions(cu_seqlens, ranks, rank, split);
    RC_ASSERT(shard.tokens.size() * static_cast<size_t>(ranks) == whole.ids.size());
    for (size_t i = 0; i < shard.tokens.size(); ++i) {
      const auto token = static_cast<size_t>(shard.tokens[i]);
      ++seen[token];
      RC_ASSERT(shard.ids[i] == whole.ids[token]);
      RC_ASSERT(shard.segments[i] == whole.segments[token]);
    }
  }
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

}  // namespace
}  // namespace hodometer
