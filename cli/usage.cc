#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

namespace hodometer::cli {
namespace {

constexpr size_t help_width = 100;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

OptionUsage option_usage(const CLI::Option& option) {
  OptionUsage usage;
  usage.argument = option.get_positional();
  usage.required = option.get_required();
  usage.repeated = option.get_items_expected_max() > 1;
  usage.meaning = option.get_description();
  if (option.get_items_expected_max() > 0) usage.value = option.get_type_name();
  if (usage.value.find('|') != std::string::npos) usage.words = split(usage.value, '|');
  for (const std::string& name : option.get_snames()) usage.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) usage.names.push_back("--" + name);
  if (usage.argument) usage.names = {option.get_name(true)};
  return usage;
}

VerbUsage verb_usage(const CLI::App& verb, const Command& command) {
  VerbUsage usage{command, {}};
  for (const CLI::Option* option : verb.get_options())
    usage.options.push_back(option_usage(*option));
  std::stable_partition(usage.options.begin(), usage.options.end(),
                        [](const OptionUsage& option) { return option.argument; });
  return usage;
}

std::string title(const OptionUsage& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.argument && !option.value.empty()) text += " " + option.value;
  return text;
}

// Two columns; a title that is too long for its own gets a line.
std::string rows(const std::vector<std::pair<std::string, std::string>>& list) {
  constexpr size_t widest = 26;
  size_t left = 0;
  for (const auto& [name, meaning] : list) {
    if (name.size() <= widest) left = std::max(left, name.size());
  }
  std::string text;
  for (const auto& [name, meaning] : list) {
    std::string right = wrapped(meaning, left + 4, help_width);
    if (name.size() <= left) {
      right.replace(0, std::min(right.size(), left + 4), fmt::format("  {:<{}}  ", name, left));
      text += right;
    } else {
      text += fmt::format("  {}\n{}", name, right);
    }
  }
  return text;
}

std::string examples(std::string_view example) {
  std::string text;
  for (const std::string& line : split(std::string(example), '\n')) {
    text += fmt::format("{}{}\n", text.empty() ? "Example: " : "         ", line);
  }
  return text;
}

std::string program_help(const CLI::App& program) {
  std::string text =
      "Example: hodo inspect path/to/model\n\n"
      "hodo explains and computes what a transformer does about the order of its tokens.\n"
      "\nUsage: hodo COMMAND [OPTIONS]\n";
  const std::vector<VerbUsage> verbs = usage_of(program);
  for (auto verb = verbs.begin(); verb != verbs.end();) {
    const Section section = verb->command.section;
    std::vector<std::pair<std::string, std::string>> list;
    for (; verb != verbs.end() && verb->command.section == section; ++verb) {
      list.emplace_back(verb->command.name, verb->command.summary);
    }
    text += fmt::format("\n{}:\n{}", section_title(section), rows(list));
  }
  std::vector<std::pair<std::string, std::string>> list;
  for (const CLI::Option* option : program.get_options()) {
    const OptionUsage usage = option_usage(*option);
    list.emplace_back(title(usage), usage.meaning);
  }
  return text + "\nOptions:\n" + rows(list) +
         "\nhodo COMMAND --help says more about one. Data goes to standard output, everything else "
         "to\nstandard error. Exit codes: 0 ok, 1 the answer is no, 2 usage, 3 bad input, 4 input "
         "or output.\n";
}

std::string verb_help(const VerbUsage& verb) {
  std::string text = examples(verb.command.example);
  text += fmt::format("\n{}.\n\nUsage: {}\n", verb.command.summary, verb.synopsis());
  std::vector<std::pair<std::string, std::string>> arguments;
  std::vector<std::pair<std::string, std::string>> options;
  for (const OptionUsage& option : verb.options) {
    (option.argument ? arguments : options)
        .emplace_back(title(option),
                      option.meaning + (option.required && !option.argument ? " (needed)" : ""));
  }
  if (!arguments.empty()) text += fmt::format("\nArguments:\n{}", rows(arguments));
  text += fmt::format("\nOptions:\n{}", rows(options));
  if (!verb.command.details.empty()) {
    text += "\n";
    text += wrapped(verb.command.details, 0, help_width);
  }
  return text;
}

}  // namespace

std::string VerbUsage::synopsis() const {
  std::string text = fmt::format("hodo {} [OPTIONS]", command.name);
  for (const OptionUsage& option : options) {
    if (!option.argument) continue;
    const std::string name = option.names.front() + (option.repeated ? "..." : "");
    text += option.required ? " " + name : " [" + name + "]";
  }
  return text;
}

std::vector<VerbUsage> usage_of(const CLI::App& program) {
  std::vector<VerbUsage> verbs;
  for (const Command& command : commands()) {
    for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; })) {
      if (verb->get_name() == command.name) verbs.push_back(verb_usage(*verb, command));
    }
  }
  return verbs;
}

std::string_view section_title(Section section) {
  switch (section) {
    case Section::models:
      return "Models";
    case Section::numbers:
      return "Numbers";
    case Section::measurements:
      return "Measurements";
    case Section::shell:
      return "Shell";
  }
  return "";
}

std::string help_text(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  if (parent == nullptr) return program_help(app);
  for (const Command& command : commands()) {
    if (app.get_name() == command.name) return verb_help(verb_usage(app, command));
  }
  return "";
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  const std::string margin(indent, ' ');
  std::string result;
  for (const std::string& paragraph : split(std::string(text), '\n')) {
    std::string line = margin;
    if (paragraph.starts_with(' ')) {
      line += paragraph;
    } else {
      for (const std::string& word : split(paragraph, ' ')) {
        if (line.size() + 1 + word.size() > width && line.size() > indent) {
          result += line + "\n";
          line = margin;
        }
        if (line.size() > indent) line += ' ';
        line += word;
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace hodometer::cli
