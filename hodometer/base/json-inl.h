#pragma once

// Private: the text form of everything that has fields(). Not installed.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"

namespace hodometer {

/// JSON that keeps its members in the order in which they were read.
using Json = nlohmann::ordered_json;

/// Parses JSON text. `what` begins the message of an error, which gives the byte offset. A member
/// that appears twice in one object is an error: which one counts would be a guess.
Result<Json> parse_json(std::string_view text, std::string_view what);

/// The kind of a JSON value with its text: `the string "8"`, `null`, `an object`.
std::string describe(const Json& value);

namespace json_internal {

template <class T>
concept HasFields = requires { T::fields(); };

template <class T>
concept HasEnumNames = std::is_enum_v<T> && requires(T value) { enum_names(value); };

template <class T>
struct IsVariant : std::false_type {};
template <class... Alternatives>
struct IsVariant<std::variant<Alternatives...>> : std::true_type {};

inline Error wrong_type(const std::string& path, std::string_view expected, const Json& value) {
  return {ErrorKind::bad_input,
          fmt::format("{}: expected {}, got {}", path, expected, describe(value))};
}

using Names = std::vector<std::string_view>;

}  // namespace json_internal

inline Status read_json(const Json& value, const std::string& path, double& out) {
  if (!value.is_number()) return json_internal::wrong_type(path, "a number", value);
  out = value.get<double>();
  return {};
}

inline Status read_json(const Json& value, const std::string& path, int64_t& out) {
  // 4096.0 is the integer 4096: JSON has one kind of number.
  const bool whole =
      value.is_number_integer() ||
      (value.is_number_float() && std::nearbyint(value.get<double>()) == value.get<double>());
  if (!whole) return json_internal::wrong_type(path, "a whole number", value);
  constexpr double limit = 9007199254740992.0;  // 2^53: beyond it a double skips integers
  if (std::fabs(value.get<double>()) > limit) {
    return json_internal::wrong_type(path, "a whole number within +-2^53", value);
  }
  out = value.get<int64_t>();
  return {};
}

inline Status read_json(const Json& value, const std::string& path, bool& out) {
  if (!value.is_boolean()) return json_internal::wrong_type(path, "true or false", value);
  out = value.get<bool>();
  return {};
}

inline Status read_json(const Json& value, const std::string& path, std::string& out) {
  if (!value.is_string()) return json_internal::wrong_type(path, "a string", value);
  out = value.get<std::string>();
  return {};
}

template <json_internal::HasEnumNames E>
Status read_json(const Json& value, const std::string& path, E& out) {
  std::vector<std::string> allowed;
  for (const auto& [candidate, name] : enum_names(E{})) {
    if (value.is_string() && value.get_ref<const std::string&>() == name) {
      out = candidate;
      return {};
    }
    allowed.push_back(fmt::format("\"{}\"", name));
  }
  return json_internal::wrong_type(path, fmt::format("{}", fmt::join(allowed, " or ")), value);
}

template <class T>
Status read_json(const Json& value, const std::string& path, std::vector<T>& out);
template <class... Alternatives>
Status read_json(const Json& value, const std::string& path, std::variant<Alternatives...>& out);
template <json_internal::HasFields S>
Status read_json(const Json& value, const std::string& path, S& out);

template <class T>
Status read_json(const Json& value, const std::string& path, std::optional<T>& out) {
  T inner{};
  HODO_RETURN_IF_ERROR(read_json(value, path, inner));
  out = std::move(inner);
  return {};
}

template <class T>
Status read_json(const Json& value, const std::string& path, std::vector<T>& out) {
  if (!value.is_array()) return json_internal::wrong_type(path, "a list", value);
  out.clear();
  for (const Json& element : value) {
    out.emplace_back();
    HODO_RETURN_IF_ERROR(
        read_json(element, fmt::format("{}[{}]", path, out.size() - 1), out.back()));
  }
  return {};
}

namespace json_internal {

template <HasFields S>
Status read_members(const Json& object, const std::string& path, S& out, Names& known);

// A variant's tag member says which alternative the other members belong to.
template <class... Alternatives>
Status read_members(const Json& object, const std::string& path, std::variant<Alternatives...>& out,
                    Names& known) {
  constexpr std::string_view tag = tag_key(std::type_identity<std::variant<Alternatives...>>{});
  known.push_back(tag);
  const std::string names = fmt::format("{}", fmt::join({Alternatives::name...}, ", "));
  const auto found = object.find(tag);
  if (found == object.end()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{}: missing member \"{}\": expected one of {}", path, tag, names)};
  }
  if (!found->is_string()) {
    return wrong_type(fmt::format("{}.{}", path, tag), "one of " + names, *found);
  }
  const auto& wanted = found->template get_ref<const std::string&>();
  std::optional<Status> outcome;
  const auto try_one = [&]<class A>(std::type_identity<A>) {
    if (wanted != A::name) return;
    A alternative;
    outcome = read_members(object, path, alternative, known);
    out = std::move(alternative);
  };
  (try_one(std::type_identity<Alternatives>{}), ...);
  if (outcome) return *outcome;
  return wrong_type(fmt::format("{}.{}", path, tag), "one of " + names, *found);
}

template <HasFields S>
Status read_members(const Json& object, const std::string& path, S& out, Names& known) {
  Status status;
  const auto read_one = [&](const auto& field) {
    if (!status.ok()) return;
    auto& member = out.*(field.member);
    if constexpr (requires { read_members(object, path, member, known); }) {
      if (field.presence == Presence::inlined) {
        status = read_members(object, path, member, known);
        return;
      }
    }
    known.push_back(field.name);
    const auto found = object.find(field.name);
    if (found != object.end()) {
      status = read_json(*found, fmt::format("{}.{}", path, field.name), member);
    } else if (field.presence == Presence::required) {
      status = Error{ErrorKind::bad_input, fmt::format("{}: missing member \"{}\" ({})", path,
                                                       field.name, field.meaning)};
    }
  };
  std::apply([&](const auto&... field) { (read_one(field), ...); }, S::fields());
  return status;
}

template <class T>
Status read_whole(const Json& value, const std::string& path, T& out) {
  if (!value.is_object()) return wrong_type(path, "an object", value);
  Names known;
  HODO_RETURN_IF_ERROR(read_members(value, path, out, known));
  for (const auto& [key, unused] : value.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return Error{ErrorKind::bad_input, fmt::format("{}: unknown member \"{}\": expected {}", path,
                                                   key, fmt::join(known, ", "))};
  }
  return {};
}

}  // namespace json_internal

template <class... Alternatives>
Status read_json(const Json& value, const std::string& path, std::variant<Alternatives...>& out) {
  return json_internal::read_whole(value, path, out);
}

/// Reads an object into a struct with fields(). Unknown and missing members are errors.
template <json_internal::HasFields S>
Status read_json(const Json& value, const std::string& path, S& out) {
  return json_internal::read_whole(value, path, out);
}

/// The JSON of a value; members of structs that equal their default are left out.
template <class T>
Json write_json(const T& value);

namespace json_internal {

template <class T>
void write_members(const T& value, Json& object) {
  if constexpr (IsVariant<T>::value) {
    std::visit(
        [&](const auto& alternative) {
          object[std::string(tag_key(std::type_identity<T>{}))] = std::string(alternative.name);
          write_members(alternative, object);
        },
        value);
  } else {
    const T defaults{};
    const auto write_one = [&](const auto& field) {
      const auto& member = value.*(field.member);
      if (field.presence == Presence::inlined) {
        if constexpr (HasFields<std::remove_cvref_t<decltype(member)>> ||
                      IsVariant<std::remove_cvref_t<decltype(member)>>::value) {
          write_members(member, object);
        }
        return;
      }
      Json text = write_json(member);
      if (field.presence == Presence::required || text != write_json(defaults.*(field.member))) {
        object[std::string(field.name)] = std::move(text);
      }
    };
    std::apply([&](const auto&... field) { (write_one(field), ...); }, T::fields());
  }
}

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

}  // namespace json_internal

template <class T>
Json write_json(const T& value) {
  using namespace json_internal;
  if constexpr (IsOptional<T>::value) {
    return value ? write_json(*value) : Json(nullptr);
  } else if constexpr (IsVector<T>::value) {
    Json list = Json::array();
    for (const auto& element : value) list.push_back(write_json(element));
    return list;
  } else if constexpr (HasEnumNames<T>) {
    for (const auto& [candidate, name] : enum_names(value)) {
      if (candidate == value) return std::string(name);
    }
    return nullptr;
  } else if constexpr (HasFields<T> || IsVariant<T>::value) {
    Json object = Json::object();
    write_members(value, object);
    return object;
  } else {
    return value;
  }
}

}  // namespace hodometer
