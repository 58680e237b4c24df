#include "cli/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/usage.h"
#include "hodometer/kernels/target.h"

namespace hodometer::cli {
namespace {

// The verb that the command line named, or the program itself.
const CLI::App& chosen(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? app : *verbs.front();
}

ExitCode usage_error(const Console& console, const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = chosen(app);
  const std::string name = &verb == &app ? app.get_name() : app.get_name() + " " + verb.get_name();
  console.complain(fmt::format("{}: {}", name, error.what()));
  console.complain(fmt::format("See {} --help", name));
  return ExitCode::usage;
}

// CLI11 would say only that a command is missing.
ExitCode unknown_verb(const Console& console, const Program& program, std::string_view verb) {
  std::vector<std::string> names;
  for (const auto& [name, action] : program.actions) names.push_back(name);
  console.complain(
      fmt::format("hodo: no command '{}'; there are {}", verb, fmt::join(names, ", ")));
  return ExitCode::usage;
}

ExitCode write_all(Console& console, const std::string& text) {
  Status status = console.write(text);
  if (status.ok()) status = console.flush();
  return status.ok() ? ExitCode::ok : report(console, "", status.error());
}

}  // namespace

Program make_program() {
  Program program;
  program.app = std::make_unique<CLI::App>("The position system of a transformer", "hodo");
  CLI::App& app = *program.app;
  app.set_help_flag("-h,--help", "Print help and exit");
  app.set_version_flag("--version", "hodo " HODOMETER_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  for (const Command& command : commands()) {
    CLI::App* verb = app.add_subcommand(std::string(command.name), std::string(command.summary));
    verb->set_help_flag("-h,--help", "Print help and exit");
    program.actions.emplace(command.name, command.set_up(*verb));
  }
  return program;
}

ExitCode run_program(int argc, const char* const* argv) {
  Console console = Console::of_this_process();
  const Program program = make_program();
  CLI::App& app = *program.app;
  if (argc < 2) {
    console.complain(help_text(app));
    return ExitCode::usage;
  }
  const std::string_view first = argv[1];
  if (!first.starts_with('-') && !program.actions.contains(std::string(first))) {
    return unknown_verb(console, program, first);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return write_all(console, help_text(chosen(app)));
  } catch (const CLI::CallForVersion& version) {
    return write_all(console, std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    return usage_error(console, app, error);
  }
  if (const Status target = check_target_request(); !target.ok()) {
    console.complain(fmt::format("hodo: {}", target.error().message));
    return ExitCode::usage;
  }
  const std::string verb = chosen(app).get_name();
  const ExitCode code = program.actions.at(verb)(console);
  if (const Status status = console.flush(); !status.ok()) {
    return report(console, verb, status.error());
  }
  return code;
}

}  // namespace hodometer::cli
