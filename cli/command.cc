#include "cli/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

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

ExitCode report(const Console& console, std::string_view verb, const Error& error) {
  console.complain(fmt::format("hodo {}: {}", verb, error.message));
  return exit_code(error.kind);
}

}  // namespace hodometer::cli
