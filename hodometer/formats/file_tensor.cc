#include "hodometer/formats/file_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "hodometer/base/json-inl.h"

namespace hodometer {
namespace {

Error bad(std::string text) { return {ErrorKind::bad_input, std::move(text)}; }

}  // namespace

std::string quoted_name(std::string_view name) {
  constexpr size_t longest = 80;
  std::string text = Json(std::string(name.substr(0, longest)))
                         .dump(-1, ' ', true, Json::error_handler_t::replace);
  return name.size() > longest ? text + "..." : text;
}

Status check_tensors(std::span<const FileTensor> tensors, uint64_t begin, uint64_t end, Gaps gaps,
                     std::string_view what) {
  std::unordered_set<std::string_view> names;
  std::vector<const FileTensor*> by_offset;
  for (const FileTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return bad(fmt::format("{}: tensor {} appears twice", what, quoted_name(tensor.name)));
    }
    if (tensor.offset < begin || tensor.offset > end || tensor.bytes > end - tensor.offset) {
      return bad(
          fmt::format("{}: tensor {} has {} bytes at byte {}: expected them within {} to "
                      "{}, where the file has its data",
                      what, quoted_name(tensor.name), tensor.bytes, tensor.offset, begin, end));
    }
    by_offset.push_back(&tensor);
  }
  std::sort(by_offset.begin(), by_offset.end(), [](const FileTensor* a, const FileTensor* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->bytes < b->bytes;
  });
  uint64_t reached = begin;
  const FileTensor* last = nullptr;
  for (const FileTensor* tensor : by_offset) {
    if (tensor->offset < reached && tensor->bytes > 0) {
      return bad(fmt::format("{}: tensors {} and {} overlap at byte {}", what,
                             quoted_name(last->name), quoted_name(tensor->name), tensor->offset));
    }
    if (gaps == Gaps::refused && tensor->offset > reached) {
      return bad(fmt::format("{}: {} bytes at byte {} belong to no tensor", what,
                             tensor->offset - reached, reached));
    }
    if (tensor->bytes == 0) continue;
    reached = tensor->offset + tensor->bytes;
    last = tensor;
  }
  if (gaps == Gaps::refused && reached < end) {
    return bad(
        fmt::format("{}: {} bytes at byte {} belong to no tensor", what, end - reached, reached));
  }
  return {};
}

const FileTensor* find_tensor(std::span<const FileTensor> tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const FileTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace hodometer
