// The tables of members in docs/ are what fields() says. With HODO_UPDATE_DOCS set in the
// environment the tables are written instead of compared.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "hodometer/base/json-inl.h"
#include "hodometer/methods/position_spec.h"
#include "hodometer/tools/inspect.h"

namespace hodometer {
namespace {

const std::string docs_dir = HODO_GOLDEN_DIR "/../../docs/";

template <class T>
std::string type_text(std::type_identity<std::vector<T>>);
template <class T>
std::string type_text(std::type_identity<std::optional<T>>);

std::string type_text(std::type_identity<double>) { return "number"; }
std::string type_text(std::type_identity<int64_t>) { return "whole number"; }
std::string type_text(std::type_identity<bool>) { return "`true` or `false`"; }
std::string type_text(std::type_identity<std::string>) { return "string"; }
std::string type_text(std::type_identity<FrequencySchedule>) { return "schedule"; }

std::string type_text(std::type_identity<std::array<int64_t, 2>>) { return "[first, second] pair"; }

template <json_internal::HasFields S>
std::string type_text(std::type_identity<S>) {
  return "object";
}

template <json_internal::HasEnumNames E>
std::string type_text(std::type_identity<E>) {
  std::vector<std::string> words;
  for (const auto& [value, name] : enum_names(E{})) words.push_back(fmt::format("`\"{}\"`", name));
  return fmt::format("{}", fmt::join(words, ", "));
}

template <class T>
std::string type_text(std::type_identity<std::vector<T>>) {
  return fmt::format("list of {}s", type_text(std::type_identity<T>{}));
}

template <class T>
std::string type_text(std::type_identity<std::optional<T>>) {
  return type_text(std::type_identity<T>{});
}

/// What people write, where a member may have a default, or what a command writes, where it is
/// there or does not apply.
enum class Text { read, written };

template <class Struct, class Member>
std::string presence_text(const Field<Struct, Member>& field, Text text) {
  const bool required = field.presence == Presence::required;
  if (text == Text::written) return required ? "always" : "where it applies";
  if (required) return "needed";
  const Struct defaults{};
  const Member& value = defaults.*(field.member);
  if constexpr (json_internal::IsOptional<Member>::value) {
    return value ? fmt::format("`{}`", write_json(*value).dump()) : "absent";
  } else {
    return fmt::format("`{}`", write_json(value).dump());
  }
}

template <class Struct>
std::string member_rows(Text text);

template <class Struct, class Member>
std::string member_row(const Field<Struct, Member>& field, Text text) {
  if constexpr (json_internal::HasFields<Member>) {
    if (field.presence == Presence::inlined) return member_rows<Member>(text);
  }
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", field.name,
                     type_text(std::type_identity<Member>{}), field.unit,
                     presence_text(field, text), field.meaning);
}

template <class Struct>
std::string member_rows(Text text) {
  return std::apply(
      [text](const auto&... field) { return (std::string() + ... + member_row(field, text)); },
      Struct::fields());
}

template <class Struct>
std::string member_table(Text text) {
  const std::string rows = member_rows<Struct>(text);
  if (rows.empty()) return "\nNo members.\n\n";
  return fmt::format("\n| member | type | unit | {} | meaning |\n|---|---|---|---|---|\n{}\n",
                     text == Text::read ? "default" : "there", rows);
}

std::string contents(const std::string& path) {
  std::ifstream stream(path);
  EXPECT_TRUE(stream) << path;
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Compares the table between the two marks of `name` with what fields() says, or replaces it.
void hold_table(const std::string& page, std::string_view name, const std::string& table) {
  SCOPED_TRACE(fmt::format("docs/{}, members of {}", page, name));
  const std::string begin = fmt::format("<!-- members: {} -->\n", name);
  const std::string end = "<!-- end -->\n";
  std::string text = contents(docs_dir + page);
  const size_t from = text.find(begin);
  ASSERT_NE(from, std::string::npos) << "no line " << begin;
  const size_t start = from + begin.size();
  const size_t stop = text.find(end, start);
  ASSERT_NE(stop, std::string::npos) << "no line " << end;
  if (std::getenv("HODO_UPDATE_DOCS") == nullptr) {
    EXPECT_EQ(text.substr(start, stop - start), table)
        << "HODO_UPDATE_DOCS=1 docs_test writes the table";
  } else {
    std::ofstream(docs_dir + page) << text.replace(start, stop - start, table);
  }
}

template <class... Alternatives, class PageOf>
void hold_tables(std::type_identity<std::variant<Alternatives...>>, const PageOf& page_of) {
  (hold_table(page_of(Alternatives::name), Alternatives::name,
              member_table<Alternatives>(Text::read)),
   ...);
}

TEST(Members, OfMethods) {
  hold_tables(std::type_identity<Method>{},
              [](std::string_view name) { return fmt::format("methods/{}.md", name); });
}

TEST(Members, OfSchedules) {
  hold_tables(std::type_identity<FrequencySchedule>{},
              [](std::string_view) { return "schedules.md"; });
}

TEST(Members, OfLogitScaleRules) {
  hold_tables(std::type_identity<LogitScaleRule>{},
              [](std::string_view) { return "methods/logit_scale.md"; });
}

TEST(Members, OfReports) {
  hold_table("json.md", "model", member_table<ModelReport>(Text::written));
  hold_table("json.md", "use", member_table<UseReport>(Text::written));
  hold_table("json.md", "parameter", member_table<ParameterReport>(Text::written));
  hold_table("json.md", "pairs", member_table<PairsReport>(Text::written));
  hold_table("json.md", "length", member_table<LengthReport>(Text::written));
  hold_table("json.md", "rows", member_table<RowsReport>(Text::written));
  hold_table("json.md", "bias", member_table<BiasReport>(Text::written));
  hold_table("json.md", "logit_scale", member_table<LogitScaleReport>(Text::written));
}

// What the comparison rests on: a row says what a reader of the text form would find.
TEST(Members, RowSaysTypeUnitAndDefault) {
  EXPECT_EQ(member_table<Nope>(Text::read), "\nNo members.\n\n");
  const std::string learned = member_table<Learned>(Text::read);
  EXPECT_NE(learned.find("| `offset` | whole number | rows | `0` | row of position 0 |\n"),
            std::string::npos);
  const std::string mrope = member_table<Mrope>(Text::read);
  for (const char* row : {"| `layout` | `\"half_split\"`, `\"interleaved\"` |  | needed |",
                          "| `rotary_dim` | whole number | lanes | absent |",
                          "| `schedule` | schedule |  | `{\"rope_type\":\"default\"}` |",
                          "| `mrope_section` | list of whole numbers | pairs | needed |"}) {
    EXPECT_NE(mrope.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace hodometer
