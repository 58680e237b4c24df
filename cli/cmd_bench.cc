#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/benchmark.h"
#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/text_table.h"

namespace hodometer::cli {
namespace {

constexpr std::string_view verb = "bench";

struct Options {
  std::string topic;
  std::string filter;
  double seconds = 1;
  bool json = false;
};

struct Done {
  Benchmark benchmark;
  Measurement measured;
};

std::string target_text(const Benchmark& benchmark) {
  switch (benchmark.target_of) {
    case TargetOf::ratio_at_least:
      return fmt::format("ratio >= {:.2f}", benchmark.target);
    case TargetOf::value_at_least:
      return fmt::format(">= {:g} {}", benchmark.target, benchmark.unit);
    case TargetOf::value_at_most:
      return fmt::format("<= {:g} {}", benchmark.target, benchmark.unit);
    case TargetOf::slowdown_at_most:
      return fmt::format("ratio <= {:.2f}", benchmark.target);
  }
  return "";
}

std::string results_text(const std::vector<Done>& all, const Console& console) {
  TextTable table({{"benchmark", Align::left, 20},
                   {"value", Align::right},
                   {"unit", Align::left},
                   {"limit", Align::right},
                   {"of", Align::left},
                   {"ratio", Align::right},
                   {"target", Align::left},
                   {"", Align::left}});
  for (const Done& done : all) {
    const Measurement& m = done.measured;
    if (!m.correct) {
      table.add({m.name, "", "", "", "", "", "", TextTable::Cell("WRONG", Style::bad)});
      continue;
    }
    table.add(
        {m.name, fmt::format("{:.4g}", m.value), done.benchmark.unit,
         fmt::format("{:.4g}", m.limit), done.benchmark.limit_name, fmt::format("{:.3f}", m.ratio),
         target_text(done.benchmark),
         m.met ? TextTable::Cell("met", Style::good) : TextTable::Cell("missed", Style::caution)});
  }
  return table.text(console);
}

std::vector<Done> measure_all(const Options& options, const Console& console) {
  std::vector<std::function<Benchmark()>> makers;
  for (const BenchmarkTopic& topic : benchmark_topics()) {
    if (topic.name == options.topic) makers = topic.benchmarks();
  }
  std::vector<Done> all;
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < makers.size(); ++i) {
    Benchmark benchmark = makers[i]();
    if (benchmark.name.find(options.filter) == std::string::npos) continue;
    const double spent =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::string left;
    if (i > 0)
      left = fmt::format(", about {:.0f} s left",
                         spent / static_cast<double>(i) * static_cast<double>(makers.size() - i));
    console.progress(fmt::format("{} of {}: {}{}", i + 1, makers.size(), benchmark.name, left));
    Measurement measured = measure(benchmark, options.seconds);
    // Only what is printed stays; the buffers go.
    benchmark.check = nullptr;
    benchmark.run = nullptr;
    benchmark.run_limit = nullptr;
    all.push_back({std::move(benchmark), std::move(measured)});
  }
  console.end_progress();
  return all;
}

ExitCode run(const Options& options, Console& console) {
  const std::vector<Done> all = measure_all(options, console);
  if (all.empty()) {
    return report(
        console, verb,
        {ErrorKind::usage, fmt::format("--filter: no benchmark's name has '{}'", options.filter)});
  }
  std::string text;
  if (options.json) {
    Json list = Json::array();
    for (const Done& done : all) list.push_back(measurement_json(done.benchmark, done.measured));
    text = json_text({{"schema", 1}, {"machine", machine_json()}, {"benchmarks", std::move(list)}});
  } else {
    text = results_text(all, console);
  }
  if (const Status status = console.write(text); !status.ok()) {
    return report(console, verb, status.error());
  }
  ExitCode code = ExitCode::ok;
  for (const Done& done : all) {
    if (done.measured.correct) continue;
    console.complain(fmt::format("hodo bench: {}: {}", done.benchmark.name, done.measured.problem));
    code = ExitCode::answer_no;
  }
  return code;
}

Command::Action set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> topics;
  std::string meanings;
  for (const BenchmarkTopic& topic : benchmark_topics()) {
    topics.emplace_back(topic.name);
    meanings += fmt::format("{}{}: {}", meanings.empty() ? "" : "; ", topic.name, topic.summary);
  }
  limit_to(app.add_option("TOPIC", options->topic, meanings)->required(), topics);
  app.add_option("--seconds", options->seconds, "Time for each benchmark; 1 when absent")
      ->type_name("S")
      ->check([](const std::string& text) {
        double seconds = 0;
        const bool good =
            CLI::detail::lexical_cast(text, seconds) && seconds > 0 && seconds <= 3600;
        return good ? std::string() : fmt::format("got {}, expected above 0 and up to 3600", text);
      });
  app.add_option("--filter", options->filter, "Only benchmarks whose name has TEXT in it")
      ->type_name("TEXT");
  app.add_flag("--json", options->json, "Write JSON");
  return [options](Console& console) { return run(*options, console); };
}

const Registration registered(
    {.name = verb,
     .section = Section::measurements,
     .summary = "Check an operation and measure it against what the machine allows",
     .example = "hodo bench rotate\nhodo bench table --json",
     .details =
         "Every answer is checked against double precision first, also far from position 0; then "
         "the operation and the plainest loop over the same memory are timed in turn, on one "
         "thread, by the thread's own time. Figures are medians. Exit code 1 means that an answer "
         "was wrong; a missed target is only shown, for it depends on the machine. HODO_TARGET "
         "chooses another instruction set.",
     .set_up = set_up});

}  // namespace
}  // namespace hodometer::cli
