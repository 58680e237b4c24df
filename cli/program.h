#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "cli/command.h"

namespace hodometer::cli {

/// The parser of the whole program and what each verb runs. Help, completion and the man page read
/// this one description.
struct Program {
  std::unique_ptr<CLI::App> app;
  std::map<std::string, Command::Action> actions;
};
Program make_program();

/// Parses the command line and runs the verb.
ExitCode run_program(int argc, const char* const* argv);

}  // namespace hodometer::cli
