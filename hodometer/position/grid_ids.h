#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "hodometer/base/result.h"

namespace hodometer {

/// Ids with several axes, contiguous [num_axes, tokens]: a row of PositionView::axes.
struct AxisIds {
  int64_t num_axes = 0;
  int64_t tokens = 0;
  std::vector<int64_t> ids;

  int64_t at(int64_t axis, int64_t token) const {
    return ids[static_cast<size_t>(axis * tokens + token)];
  }
};

/// A vision input as the processor reports it: frames, rows and columns of patches, before merging.
struct PatchGrid {
  int64_t frames = 1;
  int64_t height = 0;
  int64_t width = 0;
};

/// Tokens of text: the same number on every axis.
struct TextPart {
  int64_t tokens = 0;
};
/// A still image; time does not pass in it.
struct ImagePart {
  PatchGrid grid;
};
/// A video. Frame f stands at start + floor(f * tokens_per_second * seconds_per_grid) in time: the
/// start is added and never multiplied.
struct VideoPart {
  PatchGrid grid;
  /// Time between two frames of the grid. Absent: frames are 1 apart (Qwen2-VL).
  std::optional<double> seconds_per_grid = {};
};
using MropePart = std::variant<TextPart, ImagePart, VideoPart>;

/// Where the part after an image or video begins.
enum class MropeAdvance : uint8_t {
  /// One past the largest position so far. Qwen2-VL 2024, section 2.1; Hugging Face up to
  /// version 4.
  past_largest,
  /// Past the larger of merged height and width, whatever the time: text after a video may repeat
  /// positions of the video. Hugging Face's version 5. Equal to past_largest for images.
  past_grid,
};

/// What a model family fixes. Qwen2-VL: merge 2. Qwen2.5-VL: also tokens_per_second. Qwen3-VL:
/// merge 2, every frame a video part of its own between timestamps that are text.
struct MropeRule {
  int64_t spatial_merge_size = 0;
  std::optional<double> tokens_per_second = {};
  MropeAdvance advance = MropeAdvance::past_largest;
};

struct MropeIds {
  AxisIds positions;  ///< axes time, height, width
  /// Largest position + 1: where generation goes on, on every axis, as Hugging Face's
  /// `rope_deltas` say. With past_grid that is not where a text part that follows a video begins.
  int64_t next = 0;
};

/// How many tokens the parts have. Errors as mrope_ids() for their sizes.
Result<int64_t> count_mrope_tokens(std::span<const MropePart> parts, const MropeRule& rule);

/// Ids of a sequence of text, images and videos; prefill, training and decoding use this one.
/// Source: Hugging Face's `get_rope_index` of Qwen2-VL, Qwen2.5-VL and Qwen3-VL; times are products
/// in float32 as there. Errors: negative sizes; a grid that the merge size does not divide; a video
/// with seconds_per_grid when the rule has no tokens_per_second.
Result<MropeIds> mrope_ids(std::span<const MropePart> parts, const MropeRule& rule);

/// Order of the patches of a vision tower.
enum class PatchOrder : uint8_t {
  row_major,     ///< row after row of the frame
  merge_blocks,  ///< block after block of merge x merge patches, row-major inside and outside
};

/// Row and column of every patch, frame after frame: axes height, width. Source: Hugging Face's
/// `rot_pos_emb` of Qwen2-VL (merge_blocks); ViT (row_major, where merge does not matter). Errors:
/// negative sizes; a grid that `merge` does not divide in merge_blocks.
Result<AxisIds> patch_ids(const PatchGrid& grid, PatchOrder order, int64_t merge);

}  // namespace hodometer
