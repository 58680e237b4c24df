#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/inspect_text.h"
#include "cli/json_text.h"
#include "cli/read_file.h"
#include "cli/spec_input.h"
#include "hodometer/tools/inspect.h"

namespace hodometer::cli {
namespace {

constexpr std::string_view verb = "inspect";

struct Options {
  std::vector<std::string> paths;
  bool json = false;
};

Result<ModelReport> inspect_file(const std::string& path) {
  HODO_ASSIGN(const ModelPositions model, read_model(path));
  Result<ModelReport> report = inspect(model);
  if (report.ok()) return report;
  return Error{report.error().kind, input_name(path) + ": " + report.error().message};
}

std::string_view kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::bad_input:
      return "bad_input";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::limit:
      return "limit";
    case ErrorKind::io:
      return "io";
  }
  return "bad_input";
}

std::string models_json(const std::vector<Inspected>& models) {
  Json list = Json::array();
  for (const Inspected& model : models) {
    Json one = {{"path", model.path}};
    if (model.report.ok()) {
      one.update(Json::parse(report_json(*model.report)));
    } else {
      const Error& error = model.report.error();
      one["error"] = {{"kind", std::string(kind_name(error.kind))}, {"message", error.message}};
    }
    list.push_back(std::move(one));
  }
  return json_text({{"schema", 1}, {"models", std::move(list)}});
}

std::string text_of(const std::vector<Inspected>& models, const Options& options,
                    const Console& console) {
  if (options.json) return models_json(models);
  if (models.size() > 1) return comparison_text(models, console);
  return models.front().report.ok() ? report_text(models.front(), console) : "";
}

ExitCode run(const Options& options, Console& console) {
  std::vector<Inspected> models;
  for (const std::string& path : options.paths) models.push_back({path, inspect_file(path)});

  const Status status = console.write(text_of(models, options, console));
  if (!status.ok()) return report(console, verb, status.error());
  // What is wrong with a file says more than that another one could not be opened.
  ExitCode code = ExitCode::ok;
  for (const Inspected& model : models) {
    if (model.report.ok()) continue;
    const ExitCode failed = report(console, verb, model.report.error());
    if (code != ExitCode::bad_input) code = failed;
  }
  return code;
}

Command::Action set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  refuse_empty(
      app.add_option("PATH", options->paths, "A config.json or a model folder; - is standard input")
          ->type_name("PATH")
          ->required());
  app.add_flag("--json", options->json, "Write JSON");
  return [options](Console& console) { return run(*options, console); };
}

const Registration registered(
    {.name = verb,
     .section = Section::models,
     .summary = "Explain what a model does about the order of its tokens",
     .example = "hodo inspect path/to/model\nhodo inspect */config.json",
     .details =
         "One model gives a report: for every kind of layer the method, its parameters and the key "
         "that each came from, how lanes are paired and why that is known, wavelengths, factors "
         "and lengths. Several give a table with a line for each kind of layer. What no key says "
         "is marked as assumed. Files that cannot be understood are listed with the reason, and "
         "the exit code is then 3.",
     .set_up = set_up});

}  // namespace
}  // namespace hodometer::cli
