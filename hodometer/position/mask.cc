#include "hodometer/position/mask.h"

#include <fmt/format.h>

#include <algorithm>

namespace hodometer {
namespace {

constexpr int64_t everywhere = int64_t{1} << 40;

PositionInterval seen(const CausalMask&, int64_t query) { return {-everywhere, query}; }

PositionInterval seen(const BidirectionalMask&, int64_t) { return {-everywhere, everywhere}; }

PositionInterval seen(const WindowMask& mask, int64_t query) {
  return {query - std::min(mask.left, everywhere), query + std::min(mask.right, everywhere)};
}

// Chunks go on to the left of position 0.
PositionInterval seen(const ChunkedMask& mask, int64_t query) {
  const int64_t within = query % mask.size;
  return {query - (within < 0 ? within + mask.size : within), query};
}

PositionInterval seen(const PrefixMask& mask, int64_t query) {
  return {-everywhere, std::max(query, std::min(mask.length, everywhere) - 1)};
}

Status check_size(std::string_view operation, std::string_view name, int64_t value, int64_t least) {
  if (value >= least) return {};
  return Error{ErrorKind::usage,
               fmt::format("{}: {} is {}: expected {} or more", operation, name, value, least)};
}

}  // namespace

PositionInterval seen_positions(const Mask& mask, int64_t query_position) {
  return std::visit([&](const auto& one) { return seen(one, query_position); }, mask);
}

Status check(const Mask& mask, std::string_view operation) {
  if (const auto* window = std::get_if<WindowMask>(&mask)) {
    HODO_RETURN_IF_ERROR(check_size(operation, "the mask's left", window->left, 0));
    return check_size(operation, "the mask's right", window->right, 0);
  }
  if (const auto* chunked = std::get_if<ChunkedMask>(&mask)) {
    return check_size(operation, "the mask's size", chunked->size, 1);
  }
  if (const auto* prefix = std::get_if<PrefixMask>(&mask)) {
    return check_size(operation, "the mask's length", prefix->length, 0);
  }
  return {};
}

}  // namespace hodometer
