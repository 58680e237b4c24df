#include <gtest/gtest.h>

#include <vector>

#include "hodometer/capi/hodometer_c.h"

namespace {

using Ids = std::vector<int64_t>;

TEST(CIds, StartsMasksAndPacking) {
  const Ids starts{3, 7};
  Ids ids(4, -1);
  ASSERT_EQ(hodo_ids_from_starts(starts.data(), 2, 2, ids.data()), HODO_OK);
  EXPECT_EQ(ids, (Ids{3, 4, 7, 8}));

  const std::vector<uint8_t> mask{1, 1, 1, 0, 0, 1};
  Ids masked(6, -1), next(2, -1);
  ASSERT_EQ(hodo_ids_from_mask(mask.data(), 2, 3, masked.data(), next.data()), HODO_OK);
  EXPECT_EQ(masked, (Ids{0, 1, 2, 0, 0, 0}));
  EXPECT_EQ(next, (Ids{3, 1}));
  EXPECT_EQ(hodo_ids_from_mask(mask.data(), 2, 0, masked.data(), next.data()), HODO_USAGE);
  EXPECT_EQ(hodo_ids_from_mask(mask.data(), 2, 3, masked.data(), nullptr), HODO_USAGE);

  const Ids cu_seqlens{0, 2, 5};
  Ids packed(5), segments(5);
  ASSERT_EQ(hodo_ids_packed(cu_seqlens.data(), 3, packed.data(), segments.data()), HODO_OK);
  EXPECT_EQ(packed, (Ids{0, 1, 0, 1, 2}));
  EXPECT_EQ(segments, (Ids{1, 1, 2, 2, 2}));
  Ids again(5);
  ASSERT_EQ(hodo_ids_from_segments(segments.data(), 5, again.data()), HODO_OK);
  EXPECT_EQ(again, packed);
  EXPECT_EQ(hodo_ids_packed(nullptr, 0, nullptr, nullptr), HODO_USAGE);
}

TEST(CIds, EndsDraftsAndShards) {
  Ids two(2);
  ASSERT_EQ(hodo_ids_aligned_to_end(2, 7, two.data()), HODO_OK);
  EXPECT_EQ(two, (Ids{5, 6}));
  const Ids parents{-1, 0};
  ASSERT_EQ(hodo_ids_draft_tree(parents.data(), 2, 7, two.data()), HODO_OK);
  EXPECT_EQ(two, (Ids{7, 8}));
  const Ids cu_seqlens{0, 4, 8};
  Ids tokens(4), ids(4), segments(4);
  ASSERT_EQ(hodo_ids_shard(cu_seqlens.data(), 3, 2, 0, HODO_SPLIT_ZIGZAG, tokens.data(), ids.data(),
                           segments.data()),
            HODO_OK);
  EXPECT_EQ(tokens, (Ids{0, 3, 4, 7}));
  EXPECT_EQ(ids, (Ids{0, 3, 0, 3}));
  EXPECT_EQ(segments, (Ids{1, 1, 2, 2}));
}

TEST(CIds, GridsAskForTheirSizeFirst) {
  const std::vector<hodo_mrope_part> parts{
      {HODO_TEXT, 5, 0, 0, 0, 0}, {HODO_VIDEO, 0, 2, 4, 4, 2.0}, {HODO_IMAGE, 0, 1, 2, 2, 0}};
  const hodo_mrope_rule rule{2, 2.0, HODO_PAST_LARGEST};
  int64_t tokens = 0, next = 0;
  ASSERT_EQ(hodo_ids_mrope(parts.data(), 3, &rule, nullptr, 0, &tokens, &next), HODO_OK);
  ASSERT_EQ(tokens, 5 + 2 * 4 + 1);
  EXPECT_EQ(next, 11);
  Ids ids(static_cast<size_t>(3 * tokens));
  EXPECT_EQ(hodo_ids_mrope(parts.data(), 3, &rule, ids.data(), 41, &tokens, &next), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_ids_mrope: capacity is 41: expected at least 42");
  ASSERT_EQ(hodo_ids_mrope(parts.data(), 3, &rule, ids.data(), ids.size(), &tokens, &next),
            HODO_OK);
  EXPECT_EQ(Ids(ids.begin(), ids.begin() + 14), (Ids{0, 1, 2, 3, 4, 5, 5, 5, 5, 9, 9, 9, 9, 10}));
  const hodo_mrope_part wrong{static_cast<hodo_part_kind>(3), 0, 0, 0, 0, 0};
  EXPECT_EQ(hodo_ids_mrope(&wrong, 1, &rule, nullptr, 0, &tokens, &next), HODO_USAGE);

  Ids patches(8);
  ASSERT_EQ(hodo_ids_patches(1, 2, 2, HODO_ROW_MAJOR, 1, patches.data()), HODO_OK);
  EXPECT_EQ(patches, (Ids{0, 0, 1, 1, 0, 1, 0, 1}));
}

}  // namespace
