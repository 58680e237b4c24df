#include "cli/position_list.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <utility>

namespace hodometer::cli {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// Reads a number from the front of the text.
bool take_number(std::string_view& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

struct Range {
  int64_t first = 0;
  int64_t last = 0;
  int64_t step = 1;

  // Numbers in it, of which the caller refuses far fewer than 2^64.
  uint64_t count() const {
    const uint64_t more =
        (static_cast<uint64_t>(last) - static_cast<uint64_t>(first)) / static_cast<uint64_t>(step);
    return more == UINT64_MAX ? more : more + 1;
  }
};

Result<Range> parse_range(std::string_view option, std::string_view text) {
  Range range;
  std::string_view rest = text;
  const auto wrong = [&](std::string_view why) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: '{}' {}; expected numbers and ranges such as 0,1,5-8 or 0-100:25",
                             option, text, why)};
  };
  if (!take_number(rest, range.first)) return wrong("is no whole number below 2^63");
  range.last = range.first;
  if (rest.starts_with('-')) {
    rest.remove_prefix(1);
    if (!take_number(rest, range.last)) return wrong("is no range");
    if (range.last < range.first) return wrong("is a range that falls");
    if (rest.starts_with(':')) {
      rest.remove_prefix(1);
      if (!take_number(rest, range.step) || range.step < 1) return wrong("has no step above 0");
    }
  }
  if (!rest.empty()) return wrong("is not understood");
  return range;
}

}  // namespace

Result<std::vector<int64_t>> parse_positions(std::string_view option, std::string_view text) {
  HODO_ASSIGN(auto axes, parse_position_axes(option, text));
  if (axes.size() == 1) return std::move(axes.front());
  return Error{ErrorKind::usage,
               fmt::format("{}: '{}' has {} axes; expected one list", option, text, axes.size())};
}

Result<std::vector<std::vector<int64_t>>> parse_position_axes(std::string_view option,
                                                              std::string_view text) {
  std::vector<std::vector<Range>> axes;
  uint64_t numbers = 0;
  for (const std::string_view axis : split(text, ';')) {
    axes.emplace_back();
    for (const std::string_view part : split(axis, ',')) {
      HODO_ASSIGN(const Range range, parse_range(option, part));
      const uint64_t count = range.count();
      if (count > max_list_numbers || numbers + count > max_list_numbers) {
        return Error{ErrorKind::usage, fmt::format("{}: '{}' has more than {} numbers", option,
                                                   text, max_list_numbers)};
      }
      numbers += count;
      axes.back().push_back(range);
    }
  }
  std::vector<std::vector<int64_t>> lists;
  for (const auto& axis : axes) {
    lists.emplace_back();
    for (const Range& range : axis) {
      for (uint64_t i = 0; i < range.count(); ++i) {
        lists.back().push_back(range.first + static_cast<int64_t>(i) * range.step);
      }
    }
    if (lists.back().size() != lists.front().size()) {
      return Error{
          ErrorKind::usage,
          fmt::format("{}: axis {} has {} positions and axis 0 has {}; expected as many", option,
                      lists.size() - 1, lists.back().size(), lists.front().size())};
    }
  }
  return lists;
}

}  // namespace hodometer::cli
