#include <set>

#include "hodometer/base/json-inl.h"

namespace hodometer {
namespace {

// Deeper than any model file, shallow enough for every recursive reader after this one.
constexpr int max_depth = 64;

/// Ends a parse at once: a callback that says no is asked for the rest, too, and the rest may be
/// long. Does not leave this file.
struct TooDeep {};

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
  std::vector<std::set<std::string>> open_objects;
  std::string repeated;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > max_depth) throw TooDeep();
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second && repeated.empty()) repeated = key;
    }
    return true;
  };
  // The parser takes a zero byte for the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Error{ErrorKind::bad_input, fmt::format("{}: not JSON at byte {}: a zero", what, zero)};
  }
  try {
    Json value = Json::parse(text.begin(), text.end(), watch);
    if (!repeated.empty()) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{}: member \"{}\" appears twice in one object", what, repeated)};
    }
    return value;
  } catch (const TooDeep&) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{}: nested more than {} levels deep", what, max_depth)};
  } catch (const Json::parse_error& error) {
    const size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    std::string near(text.substr(std::min(offset, text.size()), 20));
    std::replace_if(
        near.begin(), near.end(), [](unsigned char c) { return c < 32 || c > 126; }, '?');
    return Error{ErrorKind::bad_input,
                 offset >= text.size()
                     ? fmt::format("{}: JSON ends early, at byte {}", what, text.size())
                     : fmt::format("{}: not JSON at byte {}, near `{}`", what, offset, near)};
  } catch (const Json::exception& error) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{}: not readable as JSON: {}", what, std::string_view(error.what()))};
  }
}

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return fmt::format("a list of {}", value.size());
    case Json::value_t::string: {
      // Outside data may hold anything; what is not UTF-8 is shown as replacement characters.
      std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
      if (text.size() > 60) text = text.substr(0, 57) + "...";
      return "the string " + text;
    }
    case Json::value_t::null:
      return "null";
    default:
      return value.dump();
  }
}

}  // namespace hodometer
