#pragma once

#include <string>
#include <string_view>

#include "hodometer/base/result.h"

namespace hodometer::cli {

/// What a program of this project ends with.
enum class ExitCode : int {
  ok = 0,
  answer_no = 1,  ///< the question was understood and the answer is no
  usage = 2,      ///< the command line is wrong
  bad_input = 3,  ///< a file or standard input is wrong, or asks for what cannot be
  io = 4,         ///< the operating system refused a file
};

/// The exit code of a failure.
ExitCode exit_code(ErrorKind kind);

/// How a piece of text stands out on a terminal.
enum class Style { plain, heading, faint, good, caution, bad };

/// Where a command writes: data to standard output, everything else to standard error.
class Console {
 public:
  /// Looks at what standard output and standard error are, and at NO_COLOR, TERM and COLUMNS.
  static Console of_this_process();
  /// For tests and pipes: plain text in so many columns, or a terminal.
  Console(bool terminal, bool color, int columns)
      : terminal_(terminal), color_(color), columns_(columns) {}

  /// Whether standard output is a terminal that a person reads.
  bool terminal() const { return terminal_; }
  /// Width of the terminal.
  int columns() const { return columns_; }
  /// `text` in a style; unchanged without colour.
  std::string styled(Style style, std::string_view text) const;

  /// Writes to standard output. A reader that went away ends the program quietly.
  Status write(std::string_view text);
  /// Hands everything to the system: the last chance to hear that the disk is full.
  Status flush();

  /// Writes a line to standard error, with what a file could smuggle into a terminal made visible.
  void complain(std::string_view line) const;
  /// Shows a line of progress on standard error when that is a terminal; the next one, or
  /// end_progress(), replaces it.
  void progress(std::string_view line) const;
  void end_progress() const;

 private:
  bool terminal_;
  bool color_;
  int columns_;
  bool error_terminal_ = false;
};

/// The text with control characters, and bytes that are no character, written as \x1b: what comes
/// from a file never drives the terminal. Lines stay apart.
std::string printable(std::string_view text);

/// How many columns a text takes, styles not counted.
int display_width(std::string_view text);

/// The text cut to so many columns, ending in "…" when something is missing. Not for styled text.
std::string cut_to_width(std::string_view text, int width);

}  // namespace hodometer::cli
