#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hodometer/capi/guard-inl.h"
#include "hodometer/position/grid_ids.h"
#include "hodometer/position/position_ids.h"

using namespace hodometer;

namespace {

using Ids = std::vector<int64_t>;

/// Copies what was made to a caller's array.
Status write(std::string_view operation, std::string_view name, const Ids& made, int64_t* out) {
  if (made.empty()) return {};
  HODO_RETURN_IF_ERROR(capi::check_given(operation, name, out));
  std::copy(made.begin(), made.end(), out);
  return {};
}

Ids numbers(const std::vector<SegmentId>& segments) {
  Ids out(segments.size());
  std::transform(segments.begin(), segments.end(), out.begin(),
                 [](SegmentId segment) { return static_cast<int64_t>(segment); });
  return out;
}

Result<MropePart> part_of(std::string_view operation, const hodo_mrope_part& part) {
  const PatchGrid grid{part.frames, part.height, part.width};
  switch (part.kind) {
    case HODO_TEXT:
      return MropePart(TextPart{part.tokens});
    case HODO_IMAGE:
      return MropePart(ImagePart{grid});
    case HODO_VIDEO: {
      VideoPart video{grid};
      if (part.seconds_per_grid != 0) video.seconds_per_grid = part.seconds_per_grid;
      return MropePart(video);
    }
  }
  return Error{ErrorKind::usage, fmt::format("{}: the kind of a part is {}: expected 0 to 2",
                                             operation, static_cast<int>(part.kind))};
}

}  // namespace

extern "C" {

hodo_status hodo_ids_from_starts(const int64_t* starts, size_t batch, int64_t length,
                                 int64_t* ids) {
  return capi::guard([&]() -> Status {
    std::span<const int64_t> given;
    HODO_RETURN_IF_ERROR(capi::to_span("hodo_ids_from_starts", "starts", starts, batch, given));
    HODO_ASSIGN(const Ids made, ids_from_starts(given, length));
    return write("hodo_ids_from_starts", "ids", made, ids);
  });
}

hodo_status hodo_ids_from_mask(const uint8_t* mask, size_t batch, int64_t length, int64_t* ids,
                               int64_t* next) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_ids_from_mask";
    if (length < 1 || batch > static_cast<size_t>(INT64_MAX / length)) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: batch is {} and length {}: expected a mask in memory",
                               operation, batch, length)};
    }
    std::span<const uint8_t> given;
    HODO_RETURN_IF_ERROR(
        capi::to_span(operation, "mask", mask, batch * static_cast<size_t>(length), given));
    HODO_ASSIGN(const MaskedIds made, ids_from_mask(given, length));
    if (!given.empty()) {
      HODO_RETURN_IF_ERROR(capi::check_given(operation, "ids", ids));
      HODO_RETURN_IF_ERROR(capi::check_given(operation, "next", next));
    }
    HODO_RETURN_IF_ERROR(write(operation, "ids", made.ids, ids));
    return write(operation, "next", made.next, next);
  });
}

hodo_status hodo_ids_packed(const int64_t* cu_seqlens, size_t count, int64_t* ids,
                            int64_t* segments) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_ids_packed";
    std::span<const int64_t> given;
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "cu_seqlens", cu_seqlens, count, given));
    HODO_ASSIGN(const PackedIds made, packed_ids(given));
    if (!made.ids.empty()) {
      HODO_RETURN_IF_ERROR(capi::check_given(operation, "ids", ids));
      HODO_RETURN_IF_ERROR(capi::check_given(operation, "segments", segments));
    }
    const Ids typed = numbers(made.segments);  // what may fail comes before the first output
    HODO_RETURN_IF_ERROR(write(operation, "ids", made.ids, ids));
    return write(operation, "segments", typed, segments);
  });
}

hodo_status hodo_ids_from_segments(const int64_t* segments, size_t count, int64_t* ids) {
  return capi::guard([&]() -> Status {
    std::span<const int64_t> given;
    HODO_RETURN_IF_ERROR(
        capi::to_span("hodo_ids_from_segments", "segments", segments, count, given));
    std::vector<SegmentId> typed(count);
    std::transform(given.begin(), given.end(), typed.begin(),
                   [](int64_t segment) { return SegmentId(segment); });
    HODO_ASSIGN(const Ids made, ids_from_segments(typed));
    return write("hodo_ids_from_segments", "ids", made, ids);
  });
}

hodo_status hodo_ids_aligned_to_end(int64_t q_len, int64_t k_len, int64_t* ids) {
  return capi::guard([&]() -> Status {
    HODO_ASSIGN(const Ids made, ids_aligned_to_end(q_len, k_len));
    return write("hodo_ids_aligned_to_end", "ids", made, ids);
  });
}

hodo_status hodo_ids_draft_tree(const int64_t* parents, size_t count, int64_t base, int64_t* ids) {
  return capi::guard([&]() -> Status {
    std::span<const int64_t> given;
    HODO_RETURN_IF_ERROR(capi::to_span("hodo_ids_draft_tree", "parents", parents, count, given));
    HODO_ASSIGN(const Ids made, draft_tree_ids(given, base));
    return write("hodo_ids_draft_tree", "ids", made, ids);
  });
}

hodo_status hodo_ids_shard(const int64_t* cu_seqlens, size_t count, int64_t ranks, int64_t rank,
                           hodo_split split, int64_t* tokens, int64_t* ids, int64_t* segments) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_ids_shard";
    std::span<const int64_t> given;
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "cu_seqlens", cu_seqlens, count, given));
    ContextSplit cut{};
    HODO_RETURN_IF_ERROR(capi::to_enum(operation, "split", split, 2, cut));
    HODO_ASSIGN(const ShardIds made, cp_positions(given, ranks, rank, cut));
    if (!made.ids.empty()) {
      HODO_RETURN_IF_ERROR(capi::check_given(operation, "tokens", tokens));
      HODO_RETURN_IF_ERROR(capi::check_given(operation, "ids", ids));
      HODO_RETURN_IF_ERROR(capi::check_given(operation, "segments", segments));
    }
    const Ids typed = numbers(made.segments);
    HODO_RETURN_IF_ERROR(write(operation, "tokens", made.tokens, tokens));
    HODO_RETURN_IF_ERROR(write(operation, "ids", made.ids, ids));
    return write(operation, "segments", typed, segments);
  });
}

hodo_status hodo_ids_mrope(const hodo_mrope_part* parts, size_t count, const hodo_mrope_rule* rule,
                           int64_t* ids, size_t capacity, int64_t* tokens, int64_t* next) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_ids_mrope";
    std::span<const hodo_mrope_part> given;
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "parts", parts, count, given));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "rule", rule));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "tokens", tokens));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "next", next));
    MropeRule family{rule->spatial_merge_size};
    if (rule->tokens_per_second != 0) family.tokens_per_second = rule->tokens_per_second;
    HODO_RETURN_IF_ERROR(capi::to_enum(operation, "advance", rule->advance, 2, family.advance));
    std::vector<MropePart> typed;
    for (const hodo_mrope_part& part : given) {
      HODO_ASSIGN(MropePart one, part_of(operation, part));
      typed.push_back(one);
    }
    HODO_ASSIGN(const int64_t count_all, count_mrope_tokens(typed, family));
    if (ids != nullptr && capacity < 3 * static_cast<size_t>(count_all)) {
      return Error{ErrorKind::usage, fmt::format("{}: capacity is {}: expected at least {}",
                                                 operation, capacity, 3 * count_all)};
    }
    HODO_ASSIGN(const MropeIds made, mrope_ids(typed, family));
    if (ids != nullptr) std::copy(made.positions.ids.begin(), made.positions.ids.end(), ids);
    *tokens = made.positions.tokens;
    *next = made.next;
    return {};
  });
}

hodo_status hodo_ids_patches(int64_t frames, int64_t height, int64_t width, hodo_patch_order order,
                             int64_t merge, int64_t* ids) {
  return capi::guard([&]() -> Status {
    PatchOrder typed{};
    HODO_RETURN_IF_ERROR(capi::to_enum("hodo_ids_patches", "order", order, 2, typed));
    HODO_ASSIGN(const AxisIds made, patch_ids({frames, height, width}, typed, merge));
    return write("hodo_ids_patches", "ids", made.ids, ids);
  });
}

}  // extern "C"
