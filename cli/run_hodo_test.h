#pragma once

// Private: how the tests of the program run it, as a person at a shell would.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hodometer::cli::testing {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;

  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// A folder that is gone when the test ends.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hodo_test_XXXXXX").string();
    const char* made = mkdtemp(pattern.data());
    path_ = made == nullptr ? "." : made;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(std::string_view name) const { return (path_ / name).string(); }
  /// Writes a file and gives its path.
  std::string file(std::string_view name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path(name)) << content;
    return path(name);
  }
  std::string read(std::string_view name) const {
    std::ifstream stream(path(name));
    std::ostringstream content;
    content << stream.rdbuf();
    return content.str();
  }

 private:
  std::filesystem::path path_;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

[[noreturn]] inline void exec_hodo(const std::vector<std::string>& arguments,
                                   const Environment& environment) {
  for (const char* name : {"NO_COLOR", "COLUMNS", "HODO_TARGET"}) unsetenv(name);
  setenv("TERM", "xterm", 1);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv = {const_cast<char*>("hodo")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(HODO_PROGRAM, argv.data());
  _exit(127);
}

inline int exit_code_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Runs hodo with `input` on standard input and neither output on a terminal.
inline Outcome hodo(const std::vector<std::string>& arguments, std::string_view input = "",
                    const Environment& environment = {}) {
  const Folder folder;
  folder.file("in", input);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(folder.path("in").c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(folder.path("out").c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(open(folder.path("err").c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    exec_hodo(arguments, environment);
  }
  Outcome outcome;
  outcome.code = exit_code_of(child);
  outcome.out = folder.read("out");
  outcome.err = folder.read("err");
  return outcome;
}

/// Runs hodo on a terminal of 100 columns; both outputs are in `out`.
inline Outcome hodo_on_terminal(const std::vector<std::string>& arguments,
                                const Environment& environment = {}) {
  winsize size{};
  size.ws_col = 100;
  size.ws_row = 40;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) exec_hodo(arguments, environment);
  Outcome outcome;
  char block[4096];
  for (ssize_t got; (got = read(terminal, block, sizeof block)) > 0;) {
    outcome.out.append(block, static_cast<size_t>(got));
  }
  close(terminal);
  outcome.code = exit_code_of(child);
  return outcome;
}

/// Runs a line of shell in which $HODO is the program.
inline Outcome shell(const std::string& line) {
  const Folder folder;
  const std::string whole = "HODO='" HODO_PROGRAM "'; { " + line + "\n} >" + folder.path("out") +
                            " 2>" + folder.path("err") + " </dev/null";
  Outcome outcome;
  const int status = std::system(("bash -c " + ("'" +
                                                [&] {
                                                  std::string quoted;
                                                  for (const char c : whole) {
                                                    quoted +=
                                                        c == '\'' ? "'\\''" : std::string(1, c);
                                                  }
                                                  return quoted;
                                                }() +
                                                "'"))
                                     .c_str());
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = folder.read("out");
  outcome.err = folder.read("err");
  return outcome;
}

/// Whether `text` has `part`, for EXPECT_PRED2-like messages.
inline ::testing::AssertionResult has(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no '" << part << "' in:\n" << text;
}

}  // namespace hodometer::cli::testing
