#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hodometer::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

int terminal_columns() {
  const std::string_view asked = environment("COLUMNS");
  int columns = 0;
  std::from_chars(asked.data(), asked.data() + asked.size(), columns);
  winsize size{};
  if (columns <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns <= 0 ? 100 : std::clamp(columns, 40, 1000);
}

std::string_view escape_code(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::heading:
      return "\x1b[1m";
    case Style::faint:
      return "\x1b[2m";
    case Style::good:
      return "\x1b[32m";
    case Style::caution:
      return "\x1b[33m";
    case Style::bad:
      return "\x1b[31m";
  }
  return "";
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// Bytes of the UTF-8 character that begins here; 0 when none does, also where it is written longer
/// than it need be.
size_t character_size(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead > 0xf4 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!continues_character(text[i])) return 0;
  }
  if (size > 2 && ((lead == 0xe0 && text[1] < '\xa0') || (lead == 0xf0 && text[1] < '\x90')))
    return 0;
  return size;
}

/// U+0000 to U+001F and U+007F to U+009F: what terminals obey. U+009B begins a sequence as ESC [.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

Status write_error() {
  // Whoever read us has seen enough; nothing is wrong.
  if (errno == EPIPE) std::_Exit(static_cast<int>(ExitCode::ok));
  return Error{ErrorKind::io, fmt::format("standard output: {}", std::strerror(errno))};
}

}  // namespace

ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return ExitCode::usage;
    case ErrorKind::bad_input:
    case ErrorKind::unsupported:
    case ErrorKind::limit:
      return ExitCode::bad_input;
    case ErrorKind::io:
      return ExitCode::io;
  }
  return ExitCode::bad_input;
}

Console Console::of_this_process() {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  const bool color = terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  Console console(terminal, color, terminal_columns());
  console.error_terminal_ = isatty(STDERR_FILENO) == 1 && environment("TERM") != "dumb";
  return console;
}

std::string Console::styled(Style style, std::string_view text) const {
  if (!color_ || style == Style::plain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", escape_code(style), text);
}

Status Console::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return write_error();
}

Status Console::flush() {
  if (std::fflush(stdout) == 0) return {};
  return write_error();
}

void Console::complain(std::string_view line) const {
  end_progress();
  std::fputs((printable(line) + "\n").c_str(), stderr);
}

void Console::progress(std::string_view line) const {
  if (!error_terminal_) return;
  std::fputs(fmt::format("\r\x1b[K{}", cut_to_width(line, columns_ - 1)).c_str(), stderr);
  std::fflush(stderr);
}

void Console::end_progress() const {
  if (!error_terminal_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t size = character_size(text);
    const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    if (size > 0 && (character == "\n" || !is_control(character))) {
      result += character;
    } else {
      for (const char c : character) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    text.remove_prefix(character.size());
  }
  return result;
}

int display_width(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if (!continues_character(text[i])) {
      ++width;
    }
  }
  return width;
}

std::string cut_to_width(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  size_t end = 0;
  for (int shown = 0; end < text.size(); ++end) {
    if (continues_character(text[end])) continue;
    if (shown == width - 1) break;
    ++shown;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace hodometer::cli
