#include "hodometer/position/grid_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hodometer {
namespace {

// A side of 2^20 patches is far beyond any image; the limits keep every product in 64 bits.
constexpr int64_t max_side = int64_t{1} << 20;
constexpr int64_t max_tokens = int64_t{1} << 31;

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

Status check_grid(std::string_view operation, const PatchGrid& grid, int64_t merge) {
  const auto fits = [](int64_t side) { return side >= 0 && side <= max_side; };
  if (!fits(grid.frames) || !fits(grid.height) || !fits(grid.width) ||
      (grid.frames > 0 && grid.height * grid.width > max_tokens / grid.frames)) {
    return usage(
        fmt::format("{}: grid {} x {} x {}: expected sides of 0 to {} and at most {} "
                    "patches",
                    operation, grid.frames, grid.height, grid.width, max_side, max_tokens));
  }
  if (merge < 1 || grid.height % merge != 0 || grid.width % merge != 0) {
    return usage(
        fmt::format("{}: grid {} x {} and merge size {}: expected a positive size that "
                    "divides both",
                    operation, grid.height, grid.width, merge));
  }
  return {};
}

/// The tokens of a part, or an error where it has too many beside `before`.
Result<int64_t> count_tokens(const MropePart& part, int64_t merge, int64_t before) {
  int64_t tokens = 0;
  if (const auto* text = std::get_if<TextPart>(&part)) {
    if (text->tokens < 0 || text->tokens > max_tokens) {
      return usage(fmt::format("mrope_ids: a text of {} tokens: expected 0 to {} tokens in all",
                               text->tokens, max_tokens));
    }
    tokens = text->tokens;
  } else {
    const auto* image = std::get_if<ImagePart>(&part);
    const PatchGrid& grid = image != nullptr ? image->grid : std::get<VideoPart>(part).grid;
    HODO_RETURN_IF_ERROR(check_grid("mrope_ids", grid, merge));
    tokens = grid.frames * (grid.height / merge) * (grid.width / merge);
  }
  if (tokens > max_tokens - before) {
    return usage(fmt::format("mrope_ids: more than {} tokens in all", max_tokens));
  }
  return tokens;
}

/// The state of one sequence while its parts are added.
class MropeSequence {
 public:
  MropeSequence(const MropeRule& rule, int64_t tokens) : rule_(rule) {
    made_.positions = {3, tokens, std::vector<int64_t>(static_cast<size_t>(3 * tokens))};
  }

  Status add(const TextPart& text) {
    for (int64_t i = 0; i < text.tokens; ++i) put(next_ + i, next_ + i, next_ + i);
    next_ += text.tokens;
    return {};
  }

  Status add(const ImagePart& image) { return add_grid(image.grid, 1); }

  Status add(const VideoPart& video) {
    float interval = 1;
    if (rule_.tokens_per_second) {
      const auto rate = static_cast<float>(*rule_.tokens_per_second);
      const auto seconds = static_cast<float>(video.seconds_per_grid.value_or(1));
      if (!(rate >= 0 && seconds >= 0)) {
        return usage(
            fmt::format("mrope_ids: tokens_per_second is {} and seconds_per_grid {}: "
                        "expected 0 or more",
                        rate, seconds));
      }
      interval = rate * seconds;
    } else if (video.seconds_per_grid) {
      return usage(
          fmt::format("mrope_ids: seconds_per_grid is {} but the rule has no "
                      "tokens_per_second: expected both or neither",
                      *video.seconds_per_grid));
    }
    // 2^20 frames of 2^10 positions still are positions.
    if (!(interval >= 0 && interval <= 1024)) {
      return usage(
          fmt::format("mrope_ids: tokens_per_second * seconds_per_grid is {}: expected 0 "
                      "to 1024",
                      interval));
    }
    return add_grid(video.grid, interval);
  }

  MropeIds finish() && {
    made_.next = largest_ + 1;
    return std::move(made_);
  }

 private:
  Status add_grid(const PatchGrid& grid, float interval) {
    const int64_t height = grid.height / rule_.spatial_merge_size;
    const int64_t width = grid.width / rule_.spatial_merge_size;
    for (int64_t frame = 0; frame < grid.frames; ++frame) {
      const auto time = static_cast<int64_t>(std::floor(static_cast<float>(frame) * interval));
      for (int64_t row = 0; row < height; ++row) {
        for (int64_t column = 0; column < width; ++column) {
          put(next_ + time, next_ + row, next_ + column);
        }
      }
    }
    next_ =
        rule_.advance == MropeAdvance::past_grid ? next_ + std::max(height, width) : largest_ + 1;
    return {};
  }

  void put(int64_t time, int64_t row, int64_t column) {
    int64_t axis = token_++;
    for (const int64_t id : {time, row, column}) {
      made_.positions.ids[static_cast<size_t>(axis)] = id;
      axis += made_.positions.tokens;
    }
    largest_ = std::max({largest_, time, row, column});
  }

  const MropeRule& rule_;
  MropeIds made_;
  int64_t token_ = 0;
  int64_t next_ = 0;
  int64_t largest_ = -1;
};

}  // namespace

Result<int64_t> count_mrope_tokens(std::span<const MropePart> parts, const MropeRule& rule) {
  int64_t tokens = 0;
  for (const MropePart& part : parts) {
    HODO_ASSIGN(const int64_t more, count_tokens(part, rule.spatial_merge_size, tokens));
    tokens += more;
  }
  return tokens;
}

Result<MropeIds> mrope_ids(std::span<const MropePart> parts, const MropeRule& rule) {
  HODO_ASSIGN(const int64_t tokens, count_mrope_tokens(parts, rule));
  MropeSequence sequence(rule, tokens);
  for (const MropePart& part : parts) {
    HODO_RETURN_IF_ERROR(std::visit([&](const auto& one) { return sequence.add(one); }, part));
  }
  return std::move(sequence).finish();
}

Result<AxisIds> patch_ids(const PatchGrid& grid, PatchOrder order, int64_t merge) {
  const int64_t block = order == PatchOrder::merge_blocks ? merge : 1;
  HODO_RETURN_IF_ERROR(check_grid("patch_ids", grid, block));
  const int64_t patches = grid.frames * grid.height * grid.width;
  AxisIds made{2, patches, std::vector<int64_t>(static_cast<size_t>(2 * patches))};
  size_t patch = 0;
  for (int64_t frame = 0; frame < grid.frames; ++frame) {
    for (int64_t top = 0; top < grid.height; top += block) {
      for (int64_t left = 0; left < grid.width; left += block) {
        for (int64_t row = top; row < top + block; ++row) {
          for (int64_t column = left; column < left + block; ++column, ++patch) {
            made.ids[patch] = row;
            made.ids[static_cast<size_t>(patches) + patch] = column;
          }
        }
      }
    }
  }
  return made;
}

}  // namespace hodometer
