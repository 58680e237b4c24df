#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hodometer::cli {

/// Where help and the man page list a command.
enum class Section { models, numbers, measurements, shell };

/// One verb of the program. A file cmd_<verb>.cc defines it and registers it; no other place knows.
struct Command {
  /// What runs once the command line was parsed.
  using Action = std::function<ExitCode(Console&)>;

  std::string_view name;
  Section section;
  std::string_view summary;  ///< one line
  std::string_view example;  ///< lines that may be typed as they are; help begins with them
  std::string_view details;  ///< paragraphs after the options; empty when there is nothing to say
  /// Adds the options to the verb's parser.
  Action (*set_up)(CLI::App& app);
};

/// Makes a command known: a constant of this type in the file that defines it.
struct Registration {
  explicit Registration(const Command& command);
};

/// Every registered command, by section and name.
std::vector<Command> commands();

/// Lets an option take one of a few words, which help and completion show.
void limit_to(CLI::Option* option, const std::vector<std::string>& words);

/// Lets an option take the whole numbers from `least` to `most`.
void limit_to_range(CLI::Option* option, int64_t least, int64_t most);

/// Refuses an empty value: a shell writes one for a variable that was never set, and the option
/// would be as good as absent.
void refuse_empty(CLI::Option* option);

/// The same for an enum that has names in text. The words are those of enum_names(Enum{}).
template <class Enum>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (const auto& [value, name] : enum_names(Enum{})) words.emplace_back(name);
  return words;
}

/// The value of a word of words_of().
template <class Enum>
Enum value_of(std::string_view word) {
  for (const auto& [value, name] : enum_names(Enum{})) {
    if (name == word) return value;
  }
  return Enum{};
}

/// Says on standard error what went wrong, and gives the exit code for it.
ExitCode report(const Console& console, std::string_view verb, const Error& error);

}  // namespace hodometer::cli
