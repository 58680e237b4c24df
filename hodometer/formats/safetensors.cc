#include "hodometer/formats/safetensors.h"

#include <fmt/format.h>

#include "hodometer/base/json-inl.h"
#include "hodometer/formats/byte_cursor-inl.h"

namespace hodometer {
namespace {

// The limit of the reference implementation.
constexpr uint64_t longest_header = 100'000'000;
constexpr std::string_view metadata_key = "__metadata__";

Error bad(std::string text) { return {ErrorKind::bad_input, std::move(text)}; }

Status read_metadata(const Json& value, const std::string& path, SafetensorsFile& out) {
  if (!value.is_object()) {
    return bad(fmt::format("{}: expected an object, got {}", path, describe(value)));
  }
  for (const auto& [key, text] : value.items()) {
    std::string copy;
    HODO_RETURN_IF_ERROR(read_json(text, fmt::format("{}.{}", path, quoted_name(key)), copy));
    out.metadata.emplace_back(key, std::move(copy));
  }
  return {};
}

/// An entry of the header as it is written.
struct Entry {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> data_offsets;

  static constexpr auto fields() {
    return std::tuple{required("dtype", &Entry::dtype, "", "element type"),
                      required("shape", &Entry::shape, "", "extents, slowest first"),
                      required("data_offsets", &Entry::data_offsets, "bytes", "begin and end")};
  }
};

Result<FileTensor> read_tensor(const std::string& name, const Json& value, const std::string& path,
                               uint64_t data_begin) {
  Entry entry;
  HODO_RETURN_IF_ERROR(read_json(value, path, entry));
  const auto type = tensor_type_from_safetensors(entry.dtype);
  if (!type) return bad(fmt::format("{}.dtype: unknown type {}", path, quoted_name(entry.dtype)));
  const std::vector<int64_t>& range = entry.data_offsets;
  if (range.size() != 2 || range[0] < 0 || range[1] < range[0]) {
    return bad(
        fmt::format("{}.data_offsets: expected a begin and an end that is not before it, "
                    "got [{}]",
                    path, fmt::join(range, ", ")));
  }
  auto needed = tensor_bytes(*type, entry.shape);
  if (!needed.ok()) {
    return bad(fmt::format("{}.shape: [{}]: {}", path, fmt::join(entry.shape, ", "),
                           needed.error().message));
  }
  const auto bytes = static_cast<uint64_t>(range[1] - range[0]);
  if (bytes != *needed) {
    return bad(fmt::format("{}.data_offsets: {} bytes: expected {} for {} [{}]", path, bytes,
                           *needed, entry.dtype, fmt::join(entry.shape, ", ")));
  }
  return FileTensor{name, *type, std::move(entry.shape),
                    data_begin + static_cast<uint64_t>(range[0]), bytes};
}

}  // namespace

Result<SafetensorsFile> read_safetensors(std::span<const std::byte> bytes, std::string_view what) {
  internal::ByteCursor cursor(bytes, what);
  HODO_ASSIGN(const uint64_t length, cursor.number<uint64_t>("length of the header"));
  if (length > longest_header) {
    return bad(
        fmt::format("{}: at byte 0: a header of {} bytes: expected at most {}; this is no "
                    "safetensors file",
                    what, length, longest_header));
  }
  HODO_ASSIGN(const std::string_view text, cursor.text(length, "header"));
  const std::string header_name = fmt::format("{}: header", what);
  HODO_ASSIGN(const Json header, parse_json(text, header_name));
  if (!header.is_object()) {
    return bad(fmt::format("{}: expected an object, got {}", header_name, describe(header)));
  }
  SafetensorsFile file;
  file.data_begin = cursor.offset();
  for (const auto& [key, value] : header.items()) {
    const std::string path = fmt::format("{}: {}", header_name, quoted_name(key));
    if (key == metadata_key) {
      HODO_RETURN_IF_ERROR(read_metadata(value, path, file));
      continue;
    }
    HODO_ASSIGN(FileTensor tensor, read_tensor(key, value, path, file.data_begin));
    file.tensors.push_back(std::move(tensor));
  }
  HODO_RETURN_IF_ERROR(
      check_tensors(file.tensors, file.data_begin, bytes.size(), Gaps::refused, what));
  return file;
}

Result<std::vector<ShardEntry>> read_safetensors_index(std::string_view json,
                                                       std::string_view what) {
  HODO_ASSIGN(const Json index, parse_json(json, what));
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object()) {
    return bad(
        fmt::format("{}: expected an object with a member \"weight_map\" that is one", what));
  }
  std::vector<ShardEntry> entries;
  for (const auto& [tensor, file] : map->items()) {
    const std::string path = fmt::format("{}: weight_map.{}", what, quoted_name(tensor));
    ShardEntry entry{tensor, {}};
    HODO_RETURN_IF_ERROR(read_json(file, path, entry.file));
    if (entry.file.empty() || entry.file == "." || entry.file == ".." ||
        entry.file.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      return bad(fmt::format("{}: {} is not the name of a file in the same folder", path,
                             quoted_name(entry.file)));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace hodometer
