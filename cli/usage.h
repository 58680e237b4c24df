#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace hodometer::cli {

/// One option or argument as its parser knows it.
struct OptionUsage {
  std::vector<std::string> names;  ///< "--spec", "-h"; the name alone for an argument
  std::string value;               ///< "JSON"; empty for a flag
  std::vector<std::string> words;  ///< the only values there are, when it has a few
  std::string meaning;
  bool required = false;
  bool argument = false;
  bool repeated = false;

  /// Whether the value is a file or folder.
  bool takes_path() const { return value == "PATH"; }
};

/// One verb as its parser knows it.
struct VerbUsage {
  Command command;
  std::vector<OptionUsage> options;  ///< arguments first

  /// "hodo table [OPTIONS] [PATH]".
  std::string synopsis() const;
};

/// What the parser knows about every verb, in the order of commands().
std::vector<VerbUsage> usage_of(const CLI::App& program);

/// The heading of a section.
std::string_view section_title(Section section);

/// The help of the whole program or of one verb, at most 100 columns wide.
std::string help_text(const CLI::App& app);

/// Paragraphs broken into lines of at most `width` columns, each after `indent` spaces. Lines that
/// begin with a space stay as they are.
std::string wrapped(std::string_view text, size_t indent, size_t width);

}  // namespace hodometer::cli
