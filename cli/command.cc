#include "cli/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

namespace hodometer::cli {
namespace {

std::vector<Command>& registry() {
  static std::vector<Command> list;
  return list;
}

}  // namespace

Registration::Registration(const Command& command) { registry().push_back(command); }

std::vector<Command> commands() {
  std::vector<Command> list = registry();
  std::sort(list.begin(), list.end(), [](const Command& a, const Command& b) {
    return std::pair(a.section, a.name) < std::pair(b.section, b.name);
  });
  return list;
}

void limit_to(CLI::Option* option, const std::vector<std::string>& words) {
  option->type_name(fmt::format("{}", fmt::join(words, "|")));
  option->check([words](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    return fmt::format("got '{}', expected {}", word, fmt::join(words, " or "));
  });
}

void refuse_empty(CLI::Option* option) {
  option->check([](const std::string& text) {
    return text.empty() ? std::string("got nothing, expected a value") : std::string();
  });
}

void limit_to_range(CLI::Option* option, int64_t least, int64_t most) {
  option->check([least, most](const std::string& text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && number >= least && number <= most) return std::string();
    return fmt::format("got '{}', expected a whole number from {} to {}", text, least, most);
  });
}

ExitCode report(const Console& console, std::string_view verb, const Error& error) {
  console.complain(fmt::format("hodo{}{}: {}", verb.empty() ? "" : " ", verb, error.message));
  return exit_code(error.kind);
}

}  // namespace hodometer::cli
