#include "hodometer/position/position_ids.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_set>

namespace hodometer {
namespace {

constexpr int64_t max_ids = int64_t{1} << 31;

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

Status check_count(std::string_view operation, int64_t rows, int64_t length) {
  if (length < 0 || (rows > 0 && length > max_ids / rows)) {
    return usage(fmt::format("{}: {} rows of {} tokens: expected 0 to {} ids in all", operation,
                             rows, length, max_ids));
  }
  return {};
}

/// That base + steps is a position.
Status check_end(std::string_view operation, std::string_view name, int64_t base, int64_t steps) {
  if (base > std::numeric_limits<int64_t>::max() - steps) {
    return usage(fmt::format("{}: {} is {}: expected room for {} more positions", operation, name,
                             base, steps));
  }
  return {};
}

Status check_cumulative(std::string_view operation, std::span<const int64_t> cu_seqlens) {
  if (cu_seqlens.empty() || cu_seqlens[0] != 0) {
    return usage(fmt::format(
        "{}: cu_seqlens {}: expected it to begin with 0", operation,
        cu_seqlens.empty() ? "is empty" : fmt::format("begins with {}", cu_seqlens[0])));
  }
  for (size_t i = 1; i < cu_seqlens.size(); ++i) {
    if (cu_seqlens[i] < cu_seqlens[i - 1]) {
      return usage(fmt::format("{}: cu_seqlens[{}] is {} after {}: expected ascending lengths",
                               operation, i, cu_seqlens[i], cu_seqlens[i - 1]));
    }
  }
  return check_count(operation, 1, cu_seqlens.back());
}

}  // namespace

Result<std::vector<int64_t>> ids_from_starts(std::span<const int64_t> starts, int64_t length) {
  const auto rows = static_cast<int64_t>(starts.size());
  HODO_RETURN_IF_ERROR(check_count("ids_from_starts", rows, length));
  for (size_t b = 0; b < starts.size(); ++b) {
    HODO_RETURN_IF_ERROR(
        check_end("ids_from_starts", fmt::format("starts[{}]", b), starts[b], length));
  }
  std::vector<int64_t> ids;
  ids.reserve(static_cast<size_t>(rows * length));
  for (const int64_t start : starts) {
    for (int64_t i = 0; i < length; ++i) ids.push_back(start + i);
  }
  return ids;
}

Result<MaskedIds> ids_from_mask(std::span<const uint8_t> mask, int64_t length) {
  const auto size = static_cast<int64_t>(mask.size());
  if (length < 1 || size % length != 0 || size > max_ids) {
    return usage(
        fmt::format("ids_from_mask: {} mask values in rows of {}: expected whole rows and "
                    "at most {} values",
                    size, length, max_ids));
  }
  MaskedIds made;
  made.ids.reserve(mask.size());
  int64_t next = 0;
  for (int64_t i = 0; i < size; ++i) {
    const uint8_t valid = mask[static_cast<size_t>(i)];
    if (valid > 1) {
      return usage(
          fmt::format("ids_from_mask: the mask is {} at row {}, token {}: expected 0 or 1 "
                      "(for segments use ids_from_segments)",
                      valid, i / length, i % length));
    }
    made.ids.push_back(valid != 0 ? next : 0);
    next += valid;
    if ((i + 1) % length == 0) {
      made.next.push_back(next);
      next = 0;
    }
  }
  return made;
}

Result<PackedIds> packed_ids(std::span<const int64_t> cu_seqlens) {
  HODO_RETURN_IF_ERROR(check_cumulative("packed_ids", cu_seqlens));
  PackedIds made;
  made.ids.reserve(static_cast<size_t>(cu_seqlens.back()));
  made.segments.reserve(static_cast<size_t>(cu_seqlens.back()));
  for (size_t s = 1; s < cu_seqlens.size(); ++s) {
    const int64_t length = cu_seqlens[s] - cu_seqlens[s - 1];
    for (int64_t i = 0; i < length; ++i) made.ids.push_back(i);
    made.segments.insert(made.segments.end(), static_cast<size_t>(length), SegmentId(s));
  }
  return made;
}

Result<std::vector<int64_t>> ids_from_segments(std::span<const SegmentId> segments) {
  HODO_RETURN_IF_ERROR(check_count("ids_from_segments", 1, static_cast<int64_t>(segments.size())));
  std::vector<int64_t> ids;
  ids.reserve(segments.size());
  std::unordered_set<int64_t> seen;
  for (size_t i = 0; i < segments.size(); ++i) {
    const auto segment = static_cast<int64_t>(segments[i]);
    if (segment < 0) {
      return usage(
          fmt::format("ids_from_segments: segment {} at token {}: expected 0 for padding, "
                      "or more",
                      segment, i));
    }
    if (segments[i] == SegmentId::padding) {
      ids.push_back(0);
    } else if (i > 0 && segments[i] == segments[i - 1]) {
      ids.push_back(ids.back() + 1);
    } else if (seen.insert(segment).second) {
      ids.push_back(0);
    } else {
      return usage(
          fmt::format("ids_from_segments: segment {} comes back at token {}: expected its "
                      "tokens to lie together",
                      segment, i));
    }
  }
  return ids;
}

Result<std::vector<int64_t>> ids_aligned_to_end(int64_t q_len, int64_t k_len) {
  if (q_len < 0 || k_len < q_len) {
    return usage(
        fmt::format("ids_aligned_to_end: q_len {} and k_len {}: expected 0 <= q_len <= "
                    "k_len",
                    q_len, k_len));
  }
  HODO_RETURN_IF_ERROR(check_count("ids_aligned_to_end", 1, q_len));
  const int64_t first = k_len - q_len;
  return ids_from_starts({&first, 1}, q_len);
}

Result<std::vector<int64_t>> draft_tree_ids(std::span<const int64_t> parents, int64_t base) {
  const auto size = static_cast<int64_t>(parents.size());
  HODO_RETURN_IF_ERROR(check_count("draft_tree_ids", 1, size));
  if (base < 0) {
    return usage(
        fmt::format("draft_tree_ids: base is {}: expected the number of tokens before the "
                    "draft",
                    base));
  }
  HODO_RETURN_IF_ERROR(check_end("draft_tree_ids", "base", base, size));
  std::vector<int64_t> ids;
  ids.reserve(parents.size());
  for (int64_t i = 0; i < size; ++i) {
    const int64_t parent = parents[static_cast<size_t>(i)];
    if (parent < -1 || parent >= i) {
      return usage(
          fmt::format("draft_tree_ids: parents[{}] is {}: expected -1 to {}", i, parent, i - 1));
    }
    ids.push_back(parent < 0 ? base : ids[static_cast<size_t>(parent)] + 1);
  }
  return ids;
}

Result<ShardIds> cp_positions(std::span<const int64_t> cu_seqlens, int64_t ranks, int64_t rank,
                              ContextSplit split) {
  HODO_RETURN_IF_ERROR(check_cumulative("cp_positions", cu_seqlens));
  if (ranks < 1 || ranks > max_ids || rank < 0 || rank >= ranks) {
    return usage(fmt::format("cp_positions: rank {} of {}: expected 0 to ranks - 1", rank, ranks));
  }
  const int64_t pieces = split == ContextSplit::zigzag ? 2 * ranks : ranks;
  ShardIds made;
  for (size_t s = 1; s < cu_seqlens.size(); ++s) {
    const int64_t begin = cu_seqlens[s - 1];
    const int64_t length = cu_seqlens[s] - begin;
    if (length % pieces != 0) {
      return usage(
          fmt::format("cp_positions: sequence {} has {} tokens: expected a multiple of {} "
                      "for {} ranks",
                      s - 1, length, pieces, ranks));
    }
    const int64_t size = length / pieces;
    const auto take = [&](int64_t piece) {
      for (int64_t i = piece * size; i < (piece + 1) * size; ++i) {
        made.tokens.push_back(begin + i);
        made.ids.push_back(i);
        made.segments.push_back(SegmentId(s));
      }
    };
    take(rank);
    if (split == ContextSplit::zigzag) take(pieces - 1 - rank);
  }
  return made;
}

}  // namespace hodometer
