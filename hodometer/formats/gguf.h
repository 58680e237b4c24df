#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/formats/file_tensor.h"

namespace hodometer {

/// The types of values in a GGUF file, by the numbers of the format.
enum class GgufType : uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  string,
  array,
  uint64,
  int64,
  float64,
};
constexpr auto enum_names(GgufType) {
  return std::array<std::pair<GgufType, std::string_view>, 13>{{{GgufType::uint8, "uint8"},
                                                                {GgufType::int8, "int8"},
                                                                {GgufType::uint16, "uint16"},
                                                                {GgufType::int16, "int16"},
                                                                {GgufType::uint32, "uint32"},
                                                                {GgufType::int32, "int32"},
                                                                {GgufType::float32, "float32"},
                                                                {GgufType::boolean, "bool"},
                                                                {GgufType::string, "string"},
                                                                {GgufType::array, "array"},
                                                                {GgufType::uint64, "uint64"},
                                                                {GgufType::int64, "int64"},
                                                                {GgufType::float64, "float64"}}};
}

/// An array as it lies in the file; its lengths were checked.
struct GgufArray {
  GgufType element = GgufType::uint8;
  uint64_t count = 0;
  std::span<const std::byte> bytes;
};

/// A value: any unsigned whole number, any signed one, any float, and the rest.
using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string_view, GgufArray>;

struct GgufKey {
  std::string_view name;
  GgufType type = GgufType::uint32;  ///< as the file has it
  GgufValue value;
  uint64_t offset = 0;  ///< of its name's length, in bytes from the start of the file
};

/// What a GGUF file holds, without its data. Names and values are views into the bytes that were
/// read and live as long as they.
struct GgufFile {
  uint32_t version = 0;
  uint64_t alignment = 32;    ///< of tensors, in bytes
  std::vector<GgufKey> keys;  ///< in the order of the file
  std::vector<FileTensor> tensors;
  uint64_t data_begin = 0;

  /// The key of that name, or null.
  const GgufKey* find(std::string_view name) const;
};

/// Reads keys and tensor directory of a GGUF file, versions 2 and 3, little-endian. `bytes` is the
/// whole file, which may be mapped: only the directory is touched. `what` begins the message of an
/// error.
///
/// Refused with the byte offset: other versions, big-endian files, counts and lengths that the file
/// has no room for, unknown types, names that appear twice, arrays nested more than four deep,
/// tensors that lie outside, overlap or are not aligned.
/// Source: ggml/docs/gguf.md and gguf.cpp, which read the format for llama.cpp.
Result<GgufFile> read_gguf(std::span<const std::byte> bytes, std::string_view what);

/// The elements of an array of numbers or truth values. Errors: an array of strings or of arrays.
Result<std::vector<double>> gguf_numbers(const GgufArray& array);

/// The elements of an array of strings. Errors: an array of something else.
Result<std::vector<std::string_view>> gguf_strings(const GgufArray& array);

}  // namespace hodometer
