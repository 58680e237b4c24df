#pragma once

#include <string_view>
#include <tuple>

namespace hodometer {

/// Whether a text form must name a member, may leave it out, or shows the member's own members in
/// its place.
enum class Presence { required, optional, inlined };

/// One member of a struct as every text form sees it: JSON, command line, Python, C, documents.
/// The default of an optional member is its value in a default-constructed struct.
template <class Struct, class Member>
struct Field {
  std::string_view name;  ///< Hugging Face's key where there is one
  Member Struct::*member;
  Presence presence;
  std::string_view unit;     ///< "" when the value has none
  std::string_view meaning;  ///< one line
};

template <class Struct, class Member>
constexpr Field<Struct, Member> required(std::string_view name, Member Struct::*member,
                                         std::string_view unit, std::string_view meaning) {
  return {name, member, Presence::required, unit, meaning};
}

template <class Struct, class Member>
constexpr Field<Struct, Member> optional(std::string_view name, Member Struct::*member,
                                         std::string_view unit, std::string_view meaning) {
  return {name, member, Presence::optional, unit, meaning};
}

/// A member whose own fields appear directly in the text form of `Struct`.
template <class Struct, class Member>
constexpr Field<Struct, Member> inlined(Member Struct::*member) {
  return {"", member, Presence::inlined, "", ""};
}

}  // namespace hodometer
