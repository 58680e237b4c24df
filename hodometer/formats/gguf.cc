#include "hodometer/formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <string>
#include <type_traits>
#include <unordered_set>

#include "hodometer/formats/byte_cursor-inl.h"

namespace hodometer {
namespace {

using internal::ByteCursor;

constexpr std::string_view magic = "GGUF";
constexpr uint32_t max_dimensions = 4;    // GGML_MAX_DIMS
constexpr uint64_t longest_name = 65535;  // gguf.md
constexpr uint64_t max_alignment = 1 << 20;
constexpr int max_nesting = 4;
constexpr std::string_view alignment_key = "general.alignment";

/// Calls `use` with a value of the C++ type of a number; false for the types that are none.
template <class Use>
bool with_number_type(GgufType type, Use use) {
  switch (type) {
    case GgufType::uint8:
      return use(uint8_t{}), true;
    case GgufType::int8:
      return use(int8_t{}), true;
    case GgufType::uint16:
      return use(uint16_t{}), true;
    case GgufType::int16:
      return use(int16_t{}), true;
    case GgufType::uint32:
      return use(uint32_t{}), true;
    case GgufType::int32:
      return use(int32_t{}), true;
    case GgufType::float32:
      return use(float{}), true;
    case GgufType::uint64:
      return use(uint64_t{}), true;
    case GgufType::int64:
      return use(int64_t{}), true;
    case GgufType::float64:
      return use(double{}), true;
    case GgufType::boolean:
    case GgufType::string:
    case GgufType::array:
      return false;
  }
  return false;
}

template <class Number>
GgufValue widened(Number value) {
  if constexpr (std::floating_point<Number>) {
    return static_cast<double>(value);
  } else if constexpr (std::signed_integral<Number>) {
    return static_cast<int64_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

Result<GgufType> read_type(ByteCursor& cursor) {
  HODO_ASSIGN(const uint32_t id, cursor.number<uint32_t>("type of a value"));
  if (id <= static_cast<uint32_t>(GgufType::float64)) return static_cast<GgufType>(id);
  return cursor.error(fmt::format("type {}: expected 0 to 12", id));
}

Result<std::string_view> read_text(ByteCursor& cursor, std::string_view name) {
  HODO_ASSIGN(const uint64_t length, cursor.number<uint64_t>(name));
  return cursor.text(length, name);
}

Result<std::string_view> read_name(ByteCursor& cursor, std::string_view of) {
  HODO_ASSIGN(const std::string_view name, read_text(cursor, of));
  if (name.empty() || name.size() > longest_name) {
    return cursor.error(
        fmt::format("{} has {} bytes: expected 1 to {}", of, name.size(), longest_name));
  }
  return name;
}

Result<bool> read_bool(ByteCursor& cursor) {
  HODO_ASSIGN(const uint8_t value, cursor.number<uint8_t>("bool"));
  if (value > 1) return cursor.error(fmt::format("a bool of {}: expected 0 or 1", value));
  return value == 1;
}

uint64_t number_size(GgufType type) {
  uint64_t size = 1;  // a bool
  with_number_type(type, [&](auto number) { size = sizeof number; });
  return size;
}

Status skip_elements(ByteCursor& cursor, GgufType type, uint64_t count, int depth);

Status skip_array(ByteCursor& cursor, int depth) {
  if (depth > max_nesting) {
    return cursor.error(fmt::format("arrays nested more than {} deep", max_nesting));
  }
  HODO_ASSIGN(const GgufType element, read_type(cursor));
  HODO_ASSIGN(const uint64_t count, cursor.number<uint64_t>("length of an array"));
  return skip_elements(cursor, element, count, depth);
}

Status skip_elements(ByteCursor& cursor, GgufType type, uint64_t count, int depth) {
  if (type == GgufType::string || type == GgufType::array) {
    // Every round takes bytes or fails, so a huge count ends where the file does.
    for (uint64_t i = 0; i < count; ++i) {
      if (type == GgufType::array) {
        HODO_RETURN_IF_ERROR(skip_array(cursor, depth + 1));
      } else if (const auto text = read_text(cursor, "string of an array"); !text.ok()) {
        return text.error();
      }
    }
    return {};
  }
  if (count > cursor.left() / number_size(type)) {
    return cursor.error(
        fmt::format("an array of {} elements: the file has {} bytes left", count, cursor.left()));
  }
  const auto taken = cursor.take(count * number_size(type), "array");
  return taken.ok() ? Status() : taken.error();
}

Result<GgufArray> read_array(ByteCursor& cursor, std::span<const std::byte> file) {
  GgufArray array;
  HODO_ASSIGN(array.element, read_type(cursor));
  HODO_ASSIGN(array.count, cursor.number<uint64_t>("length of an array"));
  const uint64_t begin = cursor.offset();
  HODO_RETURN_IF_ERROR(skip_elements(cursor, array.element, array.count, 1));
  array.bytes = file.subspan(begin, cursor.offset() - begin);
  return array;
}

Result<GgufValue> read_value(ByteCursor& cursor, GgufType type, std::span<const std::byte> file) {
  Result<GgufValue> value = GgufValue(uint64_t{0});
  const bool is_number = with_number_type(type, [&]<class Number>(Number) {
    const auto number = cursor.number<Number>("value");
    value = number.ok() ? Result<GgufValue>(widened(*number)) : number.error();
  });
  if (is_number) return value;
  if (type == GgufType::boolean) {
    HODO_ASSIGN(const bool truth, read_bool(cursor));
    return GgufValue(truth);
  }
  if (type == GgufType::string) {
    HODO_ASSIGN(const std::string_view text, read_text(cursor, "string"));
    return GgufValue(text);
  }
  HODO_ASSIGN(const GgufArray array, read_array(cursor, file));
  return GgufValue(array);
}

Error within(const GgufKey& key, const Error& error) {
  return {error.kind, fmt::format("{} (in key {})", error.message, quoted_name(key.name))};
}

Status read_keys(ByteCursor& cursor, std::span<const std::byte> bytes, uint64_t count,
                 GgufFile& out) {
  std::unordered_set<std::string_view> names;
  for (uint64_t i = 0; i < count; ++i) {
    GgufKey key;
    key.offset = cursor.offset();
    HODO_ASSIGN(key.name, read_name(cursor, "name of a key"));
    if (!names.insert(key.name).second) {
      return cursor.error(fmt::format("key {} appears twice", quoted_name(key.name)));
    }
    auto type = read_type(cursor);
    if (!type.ok()) return within(key, type.error());
    key.type = *type;
    auto value = read_value(cursor, key.type, bytes);
    if (!value.ok()) return within(key, value.error());
    key.value = *std::move(value);
    out.keys.push_back(std::move(key));
  }
  return {};
}

Status read_alignment(const ByteCursor& cursor, GgufFile& out) {
  const GgufKey* key = out.find(alignment_key);
  if (key == nullptr) return {};
  const auto* value = std::get_if<uint64_t>(&key->value);
  if (key->type != GgufType::uint32 || !std::has_single_bit(*value) || *value > max_alignment) {
    return cursor.error(
        fmt::format("{} at byte {}: expected a uint32 that is a power of two up to "
                    "{}",
                    alignment_key, key->offset, max_alignment));
  }
  out.alignment = *value;
  return {};
}

/// A row of the tensor directory; its offset counts from the start of the data.
Result<FileTensor> read_tensor(ByteCursor& cursor, uint64_t alignment) {
  HODO_ASSIGN(const std::string_view name, read_name(cursor, "name of a tensor"));
  HODO_ASSIGN(const uint32_t dimensions, cursor.number<uint32_t>("dimensions of a tensor"));
  const auto error = [&](std::string text) {
    return cursor.error(fmt::format("tensor {}: {}", quoted_name(name), text));
  };
  if (dimensions > max_dimensions) {
    return error(fmt::format("{} dimensions: expected at most {}", dimensions, max_dimensions));
  }
  FileTensor tensor{std::string(name), {}, {}, 0, 0};
  for (uint32_t i = 0; i < dimensions; ++i) {
    HODO_ASSIGN(const auto extent, cursor.number<int64_t>("extent of a tensor"));
    tensor.shape.insert(tensor.shape.begin(), extent);  // the file has the fastest first
  }
  HODO_ASSIGN(const uint32_t id, cursor.number<uint32_t>("type of a tensor"));
  const auto type = tensor_type_from_ggml(id);
  if (!type) return error(fmt::format("unknown type {}", id));
  tensor.type = *type;
  const auto size = tensor_bytes(tensor.type, tensor.shape);
  if (!size.ok()) return error(size.error().message);
  tensor.bytes = *size;
  HODO_ASSIGN(tensor.offset, cursor.number<uint64_t>("offset of a tensor"));
  if (tensor.offset % alignment != 0) {
    return error(
        fmt::format("offset {} is no multiple of the alignment {}", tensor.offset, alignment));
  }
  return tensor;
}

Result<uint32_t> read_version(ByteCursor& cursor) {
  HODO_ASSIGN(const std::string_view start, cursor.text(magic.size(), "magic"));
  if (start != magic) {
    return cursor.error(
        fmt::format("the file begins with {}: expected \"GGUF\"", quoted_name(start)));
  }
  HODO_ASSIGN(const uint32_t version, cursor.number<uint32_t>("version"));
  if (version == 2 || version == 3) return version;
  if (version << 16 == 0 && version != 0) {
    return Error{ErrorKind::unsupported,
                 cursor.error("a big-endian file: expected a little-endian one").message};
  }
  return Error{ErrorKind::unsupported,
               cursor.error(fmt::format("version {}: expected 2 or 3", version)).message};
}

template <class Number>
void append_numbers(const GgufArray& array, std::vector<double>& out) {
  for (uint64_t i = 0; i < array.count; ++i) {
    Number value;
    std::memcpy(&value, array.bytes.data() + i * sizeof value, sizeof value);
    out.push_back(static_cast<double>(value));
  }
}

}  // namespace

const GgufKey* GgufFile::find(std::string_view name) const {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const GgufKey& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

Result<GgufFile> read_gguf(std::span<const std::byte> bytes, std::string_view what) {
  ByteCursor cursor(bytes, what);
  GgufFile file;
  HODO_ASSIGN(file.version, read_version(cursor));
  HODO_ASSIGN(const uint64_t num_tensors, cursor.number<uint64_t>("number of tensors"));
  HODO_ASSIGN(const uint64_t num_keys, cursor.number<uint64_t>("number of keys"));
  HODO_RETURN_IF_ERROR(read_keys(cursor, bytes, num_keys, file));
  HODO_RETURN_IF_ERROR(read_alignment(cursor, file));
  for (uint64_t i = 0; i < num_tensors; ++i) {
    HODO_ASSIGN(FileTensor tensor, read_tensor(cursor, file.alignment));
    file.tensors.push_back(std::move(tensor));
  }
  file.data_begin = (cursor.offset() + file.alignment - 1) / file.alignment * file.alignment;
  for (FileTensor& tensor : file.tensors) {
    if (__builtin_add_overflow(tensor.offset, file.data_begin, &tensor.offset)) {
      return cursor.error(
          fmt::format("tensor {}: its offset leaves the file", quoted_name(tensor.name)));
    }
  }
  if (file.tensors.empty()) return file;
  HODO_RETURN_IF_ERROR(
      check_tensors(file.tensors, file.data_begin, bytes.size(), Gaps::allowed, what));
  return file;
}

Result<std::vector<double>> gguf_numbers(const GgufArray& array) {
  std::vector<double> numbers;
  const bool are_numbers = with_number_type(
      array.element, [&]<class Number>(Number) { append_numbers<Number>(array, numbers); });
  if (!are_numbers && array.element != GgufType::boolean) {
    return Error{ErrorKind::bad_input, "an array of strings or arrays: expected one of numbers"};
  }
  if (array.element == GgufType::boolean) append_numbers<uint8_t>(array, numbers);
  return numbers;
}

Result<std::vector<std::string_view>> gguf_strings(const GgufArray& array) {
  if (array.element != GgufType::string) {
    return Error{ErrorKind::bad_input, "expected an array of strings"};
  }
  std::vector<std::string_view> texts;
  ByteCursor cursor(array.bytes, "array");
  for (uint64_t i = 0; i < array.count; ++i) {
    HODO_ASSIGN(const std::string_view text, read_text(cursor, "string of an array"));
    texts.push_back(text);
  }
  return texts;
}

}  // namespace hodometer
