#pragma once

// What tests of formats share: the golden files, and files written byte by byte.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "hodometer/base/json-inl.h"

namespace hodometer::formats_test {

inline std::string golden_text(const std::string& name) {
  std::ifstream file(std::string(HODO_GOLDEN_DIR) + "/formats/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline const Json& golden() {
  static const Json value = Json::parse(golden_text("formats.json"));
  return value;
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// Bytes in the order in which they are given.
class Writer {
 public:
  template <class Number>
  Writer& number(Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
    return *this;
  }
  Writer& raw(std::string_view bytes) {
    text_.append(bytes);
    return *this;
  }
  /// A length of 64 bits and the text.
  Writer& text(std::string_view value) {
    return number(static_cast<uint64_t>(value.size())).raw(value);
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

}  // namespace hodometer::formats_test
