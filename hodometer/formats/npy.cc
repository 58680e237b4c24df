#include "hodometer/formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "hodometer/formats/byte_cursor-inl.h"

namespace hodometer {
namespace {

using internal::ByteCursor;

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t header_alignment = 64;
constexpr size_t max_dimensions = 64;  // NPY_MAXDIMS

constexpr std::array<std::pair<std::string_view, TensorType>, 12> types = {
    {{"<f8", TensorType::f64},
     {"<f4", TensorType::f32},
     {"<f2", TensorType::f16},
     {"<i8", TensorType::i64},
     {"<i4", TensorType::i32},
     {"<i2", TensorType::i16},
     {"|i1", TensorType::i8},
     {"<u8", TensorType::u64},
     {"<u4", TensorType::u32},
     {"<u2", TensorType::u16},
     {"|u1", TensorType::u8},
     {"|b1", TensorType::boolean}}};

/// Reads the Python dictionary of a header: descr, fortran_order and shape, in any order.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  /// What stands between single quotes.
  std::optional<std::string_view> quoted() {
    if (!take("'")) return std::nullopt;
    const size_t end = text_.find('\'');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return value;
  }
  std::optional<std::vector<int64_t>> tuple() {
    if (!take("(")) return std::nullopt;
    std::vector<int64_t> numbers;
    while (!take(")")) {
      int64_t number = 0;
      skip_spaces();
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (error != std::errc() || number < 0 || numbers.size() == max_dimensions) {
        return std::nullopt;
      }
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      numbers.push_back(number);
      if (!take(",") && !text_.starts_with(")")) return std::nullopt;
    }
    return numbers;
  }
  bool at_end() {
    skip_spaces();
    return text_.empty();
  }

 private:
  void skip_spaces() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size()));
  }
  std::string_view text_;
};

struct Header {
  std::string_view descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

std::optional<Header> parse(HeaderText text) {
  Header header;
  if (!text.take("{")) return std::nullopt;
  while (!text.take("}")) {
    const auto key = text.quoted();
    if (!key || !text.take(":")) return std::nullopt;
    if (*key == "descr" && header.descr.empty()) {
      header.descr = text.quoted().value_or("");
      if (header.descr.empty()) return std::nullopt;
    } else if (*key == "fortran_order" && !header.fortran_order) {
      header.fortran_order = text.take("True");
      if (!*header.fortran_order && !text.take("False")) return std::nullopt;
    } else if (*key == "shape" && !header.shape) {
      header.shape = text.tuple();
      if (!header.shape) return std::nullopt;
    } else {
      return std::nullopt;
    }
    text.take(",");
  }
  const bool whole = !header.descr.empty() && header.fortran_order && header.shape;
  if (!whole || !text.at_end()) return std::nullopt;
  return header;
}

Result<uint64_t> header_length(ByteCursor& cursor) {
  HODO_ASSIGN(const std::string_view start, cursor.text(magic.size(), "magic"));
  if (start != magic) return cursor.error("this is no .npy file");
  HODO_ASSIGN(const uint8_t version, cursor.number<uint8_t>("version"));
  HODO_ASSIGN(const uint8_t minor, cursor.number<uint8_t>("version"));
  if (version < 1 || version > 3 || minor != 0) {
    return cursor.error(fmt::format("version {}.{}: expected 1.0 to 3.0", version, minor));
  }
  if (version == 1) {
    HODO_ASSIGN(const uint16_t length, cursor.number<uint16_t>("length of the header"));
    return uint64_t{length};
  }
  HODO_ASSIGN(const uint32_t length, cursor.number<uint32_t>("length of the header"));
  return uint64_t{length};
}

}  // namespace

Result<FileTensor> read_npy(std::span<const std::byte> bytes, std::string_view what) {
  ByteCursor cursor(bytes, what);
  HODO_ASSIGN(const uint64_t length, header_length(cursor));
  HODO_ASSIGN(const std::string_view text, cursor.text(length, "header"));
  const auto header = parse(HeaderText(text));
  if (!header) {
    return cursor.error(
        fmt::format("the header before is {}: expected a dictionary of a simple "
                    "descr, fortran_order and shape",
                    quoted_name(text)));
  }
  if (*header->fortran_order)
    return cursor.error("the array is in Fortran order: expected C order");
  const auto type = std::find_if(types.begin(), types.end(),
                                 [&](const auto& row) { return row.first == header->descr; });
  if (type == types.end()) {
    return cursor.error(
        fmt::format("descr {}: this type is not understood here", quoted_name(header->descr)));
  }
  const auto needed = tensor_bytes(type->second, *header->shape);
  if (!needed.ok()) return cursor.error(needed.error().message);
  if (*needed != cursor.left()) {
    return cursor.error(fmt::format("{} bytes of data: expected {} for {} of shape ({})",
                                    cursor.left(), *needed, header->descr,
                                    fmt::join(*header->shape, ", ")));
  }
  return FileTensor{"", type->second, *header->shape, cursor.offset(), *needed};
}

Result<std::string> npy_header(TensorType type, std::span<const int64_t> shape) {
  const auto row =
      std::find_if(types.begin(), types.end(), [&](const auto& one) { return one.second == type; });
  if (row == types.end()) {
    return Error{ErrorKind::unsupported,
                 fmt::format("npy: NumPy has no type {}", tensor_layout(type).name)};
  }
  HODO_RETURN_IF_ERROR(tensor_bytes(type, shape));
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 row->first, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const size_t before = magic.size() + 4;
  const size_t end = (before + text.size() + 1 + header_alignment - 1) / header_alignment;
  text.resize(end * header_alignment - before - 1, ' ');
  text += '\n';
  std::string header(magic);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace hodometer
