#pragma once

// Private: reads numbers and text from bytes and never past them. Not installed.

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "hodometer/base/result.h"

namespace hodometer::internal {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

class ByteCursor {
 public:
  /// `what` names the file in messages and outlives the cursor.
  ByteCursor(std::span<const std::byte> bytes, std::string_view what)
      : bytes_(bytes), what_(what) {}

  uint64_t offset() const { return offset_; }
  uint64_t left() const { return bytes_.size() - offset_; }

  /// The next `count` bytes.
  Result<std::span<const std::byte>> take(uint64_t count, std::string_view name) {
    if (count > left()) {
      return error(
          fmt::format("{} of {} bytes: the file ends at byte {}", name, count, bytes_.size()));
    }
    const auto part = bytes_.subspan(offset_, count);
    offset_ += count;
    return part;
  }

  template <class Number>
  Result<Number> number(std::string_view name) {
    HODO_ASSIGN(const auto part, take(sizeof(Number), name));
    Number value;
    std::memcpy(&value, part.data(), sizeof value);
    return value;
  }

  Result<std::string_view> text(uint64_t length, std::string_view name) {
    HODO_ASSIGN(const auto part, take(length, name));
    return std::string_view(reinterpret_cast<const char*>(part.data()), part.size());
  }

  /// An error at the place of the cursor.
  Error error(std::string_view text) const {
    return {ErrorKind::bad_input, fmt::format("{}: at byte {}: {}", what_, offset_, text)};
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view what_;
  uint64_t offset_ = 0;
};

}  // namespace hodometer::internal
