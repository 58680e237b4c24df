#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"

namespace hodometer {

/// A query sees the keys at its own position and before it.
struct CausalMask {
  static constexpr std::string_view name = "causal";
  static constexpr auto fields() { return std::tuple{}; }
};

/// A query sees every key.
struct BidirectionalMask {
  static constexpr std::string_view name = "bidirectional";
  static constexpr auto fields() { return std::tuple{}; }
};

/// A query sees keys from `left` positions before it to `right` after it, both included.
///
/// Implementations count a causal sliding window with the query itself: sliding_window 4096 of
/// Mistral or Gemma is left 4095, right 0. A local window of 128 in ModernBERT is 64 and 64.
struct WindowMask {
  int64_t left = 0;
  int64_t right = 0;

  static constexpr std::string_view name = "window";
  static constexpr auto fields() {
    return std::tuple{required("left", &WindowMask::left, "positions", "reach before the query"),
                      optional("right", &WindowMask::right, "positions", "reach after the query")};
  }
};

/// Positions fall into chunks [0, size), [size, 2 size), ...; a query sees the keys of its chunk
/// that are not after it (Llama 4).
struct ChunkedMask {
  int64_t size = 0;

  static constexpr std::string_view name = "chunked";
  static constexpr auto fields() {
    return std::tuple{required("size", &ChunkedMask::size, "positions", "of a chunk")};
  }
};

/// A query sees what a causal mask shows and every key at a position before `length` (prefix
/// language models).
struct PrefixMask {
  int64_t length = 0;

  static constexpr std::string_view name = "prefix";
  static constexpr auto fields() {
    return std::tuple{
        required("length", &PrefixMask::length, "positions", "of the prefix that all see")};
  }
};

/// What a query sees by its position alone.
using Mask = std::variant<CausalMask, BidirectionalMask, WindowMask, ChunkedMask, PrefixMask>;
constexpr std::string_view tag_key(std::type_identity<Mask>) { return "kind"; }

/// The mask of `sliding_window`: the query and the size - 1 positions before it.
constexpr WindowMask sliding_window(int64_t size) { return {size - 1, 0}; }

/// Positions first to last, both included; none where last < first.
struct PositionInterval {
  int64_t first = 0;
  int64_t last = -1;
};

/// The key positions that a query sees: every mask shows one interval. Positions within +-2^31.
PositionInterval seen_positions(const Mask& mask, int64_t query_position);

/// Errors: a window with a negative side, a chunk without positions, a negative prefix.
Status check(const Mask& mask, std::string_view operation);

}  // namespace hodometer
