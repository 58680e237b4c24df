#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "cli/program.h"
#include "cli/usage.h"

namespace hodometer::cli {
namespace {

// roff reads a leading . or ' and every backslash and dash as its own.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string option_entry(const OptionUsage& option) {
  std::string title = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.argument && !option.value.empty()) title += " " + option.value;
  return fmt::format(".TP\n.B {}\n{}\n", roff(title), roff(option.meaning));
}

std::string verb_entry(const VerbUsage& verb) {
  std::string text =
      fmt::format(".SS {}\n{}.\n.PP\n.nf\n{}\n\n{}\n.fi\n", roff(verb.synopsis()),
                  roff(verb.command.summary), "Example:", roff(verb.command.example));
  for (const OptionUsage& option : verb.options) text += option_entry(option);
  if (!verb.command.details.empty()) text += fmt::format(".PP\n{}\n", roff(verb.command.details));
  return text;
}

ExitCode run(Console& console) {
  const Program program = make_program();
  std::string text =
      ".TH HODO 1 \"\" \"hodo " HODOMETER_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\nhodo \\- the position system of a transformer\n"
      ".SH SYNOPSIS\n.B hodo\nCOMMAND [OPTIONS]\n"
      ".SH DESCRIPTION\n"
      "Explains and computes what a transformer does about the order of its tokens.\n"
      ".SH COMMANDS\n";
  for (const VerbUsage& verb : usage_of(*program.app)) text += verb_entry(verb);
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n.B NO_COLOR\nWhen set and not empty, nothing is coloured.\n"
      ".TP\n.B HODO_TARGET\nThe instruction set that kernels use, such as AVX2; the best one "
      "otherwise.\n"
      ".SH EXIT STATUS\n"
      "0 ok, 1 the answer is no, 2 usage, 3 bad input, 4 input or output.\n";
  const Status status = console.write(text);
  return status.ok() ? ExitCode::ok : report(console, "man", status.error());
}

Command::Action set_up(CLI::App&) { return run; }

const Registration man({.name = "man",
                        .section = Section::shell,
                        .summary = "Write the manual page",
                        .example = "hodo man | man -l -",
                        .details = "",
                        .set_up = set_up});

}  // namespace
}  // namespace hodometer::cli
