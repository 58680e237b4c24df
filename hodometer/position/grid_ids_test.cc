#include "hodometer/position/grid_ids.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace hodometer {
namespace {

using Ids = std::vector<int64_t>;

Ids axis(const AxisIds& made, int64_t index) {
  return Ids(made.ids.begin() + index * made.tokens, made.ids.begin() + (index + 1) * made.tokens);
}

// Fault: running ids for patches, which lose the layout of the image without an error.
TEST(MropeIds, TextImageText) {
  const std::vector<MropePart> parts{TextPart{5}, ImagePart{{1, 4, 4}}, TextPart{1}};
  const MropeIds made = *mrope_ids(parts, {.spatial_merge_size = 2});
  EXPECT_EQ(axis(made.positions, 0), (Ids{0, 1, 2, 3, 4, 5, 5, 5, 5, 7}));
  EXPECT_EQ(axis(made.positions, 1), (Ids{0, 1, 2, 3, 4, 5, 5, 6, 6, 7}));
  EXPECT_EQ(axis(made.positions, 2), (Ids{0, 1, 2, 3, 4, 5, 6, 5, 6, 7}));
  EXPECT_EQ(made.next, 8);
}

// Fault: the start multiplied by the interval, 15 * 4 = 60, and still images scaled too.
TEST(MropeIds, TheStartIsAddedAndNotMultiplied) {
  const MropeRule rule{.spatial_merge_size = 1, .tokens_per_second = 2.0};
  const std::vector<MropePart> video{TextPart{15}, VideoPart{{4, 1, 1}, 2.0}};
  const AxisIds made = mrope_ids(video, rule)->positions;
  EXPECT_EQ(Ids(made.ids.begin() + 15, made.ids.begin() + 19), (Ids{15, 19, 23, 27}));
  const std::vector<MropePart> image{TextPart{15}, ImagePart{{1, 1, 1}}};
  EXPECT_EQ(mrope_ids(image, rule)->positions.at(0, 15), 15);
}

std::vector<MropePart> parts_of(const nlohmann::json& row, const nlohmann::json& one) {
  std::vector<MropePart> parts;
  size_t videos = 0;
  for (const auto& part : row) {
    if (part[0] == "text") {
      parts.push_back(TextPart{part[1]});
      continue;
    }
    const PatchGrid grid{part[1][0], part[1][1], part[1][2]};
    if (part[0] == "image") {
      parts.push_back(ImagePart{grid});
      continue;
    }
    VideoPart video{grid, {}};
    if (one.contains("second_per_grid_ts"))
      video.seconds_per_grid = one["second_per_grid_ts"][videos++];
    parts.push_back(video);
  }
  return parts;
}

// The tokens that a padding mask keeps.
Ids kept(const Ids& ids, const nlohmann::json& one, size_t row) {
  if (!one.contains("attention_mask")) return ids;
  Ids out;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (one["attention_mask"][row][i] == 1) out.push_back(ids[i]);
  }
  return out;
}

void expect_equal(const AxisIds& made, const nlohmann::json& wanted, const nlohmann::json& one,
                  size_t row) {
  for (int64_t a = 0; a < 3; ++a) {
    EXPECT_EQ(axis(made, a), kept(wanted[static_cast<size_t>(a)].get<Ids>(), one, row))
        << one["name"] << ", axis " << a;
  }
}

TEST(MropeIds, AgreeWithHuggingFace) {
  std::ifstream file(HODO_GOLDEN_DIR "/positions.json");
  const nlohmann::json cases = nlohmann::json::parse(file)["mrope"];
  int compared = 0;
  for (const auto& one : cases) {
    MropeRule rule{.spatial_merge_size = one["spatial_merge_size"]};
    if (one.contains("tokens_per_second")) rule.tokens_per_second = one["tokens_per_second"];
    for (size_t row = 0; row < one["rows"].size(); ++row) {
      const std::vector<MropePart> parts = parts_of(one["rows"][row], one);
      rule.advance = MropeAdvance::past_grid;
      const MropeIds grid = *mrope_ids(parts, rule);
      expect_equal(grid.positions, one["positions"][row], one, row);
      EXPECT_EQ(grid.next - grid.positions.tokens, one["delta"][row]) << one["name"];
      rule.advance = MropeAdvance::past_largest;
      const bool differs = one.contains("positions_max_plus_one");
      expect_equal(mrope_ids(parts, rule)->positions,
                   one[differs ? "positions_max_plus_one" : "positions"][row], one, row);
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
}

TEST(MropeIds, RefuseWhatDoesNotFit) {
  const auto message = [](const MropePart& part, const MropeRule& rule) {
    return mrope_ids({&part, 1}, rule).error().message;
  };
  EXPECT_EQ(message(ImagePart{{1, 5, 4}}, {.spatial_merge_size = 2}),
            "mrope_ids: grid 5 x 4 and merge size 2: expected a positive size that divides both");
  EXPECT_EQ(message(ImagePart{{1, 4, 4}}, {}),
            "mrope_ids: grid 4 x 4 and merge size 0: expected a positive size that divides both");
  EXPECT_EQ(message(TextPart{-1}, {.spatial_merge_size = 2}),
            "mrope_ids: a text of -1 tokens: expected 0 to 2147483648 tokens in all");
  EXPECT_EQ(message(VideoPart{{1, 4, 4}, 2.0}, {.spatial_merge_size = 2}),
            "mrope_ids: seconds_per_grid is 2 but the rule has no tokens_per_second: expected both "
            "or neither");
  EXPECT_FALSE(mrope_ids(std::vector<MropePart>{VideoPart{{1, 4, 4}, -1.0}},
                         {.spatial_merge_size = 2, .tokens_per_second = 2.0})
                   .ok());
  EXPECT_FALSE(mrope_ids(std::vector<MropePart>{ImagePart{{1 << 20, 1 << 20, 1 << 20}}},
                         {.spatial_merge_size = 1})
                   .ok());
}

TEST(PatchIds, RowAfterRow) {
  const AxisIds made = *patch_ids({2, 2, 3}, PatchOrder::row_major, 1);
  EXPECT_EQ(axis(made, 0), (Ids{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(axis(made, 1), (Ids{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(PatchIds, BlockAfterBlock) {
  const AxisIds made = *patch_ids({1, 4, 4}, PatchOrder::merge_blocks, 2);
  EXPECT_EQ(axis(made, 0), (Ids{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3}));
  EXPECT_EQ(axis(made, 1), (Ids{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(PatchIds, RefuseWhatDoesNotDivide) {
  EXPECT_FALSE(patch_ids({1, 3, 4}, PatchOrder::merge_blocks, 2).ok());
  EXPECT_TRUE(patch_ids({1, 3, 4}, PatchOrder::row_major, 2).ok());
  EXPECT_FALSE(patch_ids({1, -2, 4}, PatchOrder::row_major, 1).ok());
  EXPECT_EQ(patch_ids({0, 2, 2}, PatchOrder::row_major, 1)->tokens, 0);
}

TEST(MropeIds, AreCountedBeforeTheyAreMade) {
  const MropeRule rule{.spatial_merge_size = 2};
  const std::vector<MropePart> parts = {TextPart{3}, ImagePart{{1, 4, 6}}, VideoPart{{5, 2, 2}}};
  EXPECT_EQ(*count_mrope_tokens(parts, rule), 3 + 6 + 5);
  const std::vector<MropePart> long_text = {TextPart{int64_t{1} << 31}};
  EXPECT_EQ(*count_mrope_tokens(long_text, rule), int64_t{1} << 31);
  const std::vector<MropePart> too_long = {TextPart{int64_t{1} << 31}, TextPart{1}};
  EXPECT_FALSE(count_mrope_tokens(too_long, rule).ok());
}

// Two negative numbers make a positive time.
TEST(MropeIds, RefuseTimeThatRunsBackwardsTwice) {
  const std::vector<MropePart> parts = {VideoPart{{2, 2, 2}, -0.5}};
  EXPECT_FALSE(mrope_ids(parts, {.spatial_merge_size = 2, .tokens_per_second = -4}).ok());
}

}  // namespace
}  // namespace hodometer
