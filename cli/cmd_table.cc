#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/number_text.h"
#include "cli/position_list.h"
#include "cli/spec_input.h"
#include "cli/text_table.h"
#include "hodometer/tools/inspect.h"
#include "hodometer/tools/numbers.h"

namespace hodometer::cli {
namespace {

constexpr std::string_view verb = "table";

struct Options {
  std::string path;
  std::string spec;
  std::string positions;
  std::string use;
  std::string angles = "exact";
  std::string role = "query";
  std::optional<int64_t> context_length;
  bool json = false;
};

/// One use and its numbers, or why there are none.
struct Entry {
  const PositionUse* use;
  Result<MethodNumbers> numbers;
};

Result<ModelPositions> read_uses(const Options& options) {
  if (options.path.empty() == options.spec.empty()) {
    return Error{ErrorKind::usage, "expected either a PATH or --spec"};
  }
  ModelPositions model;
  if (options.spec.empty()) {
    HODO_ASSIGN(model, read_model(options.path));
  } else {
    PositionUse use;
    use.name = "spec";
    HODO_ASSIGN(use.spec, read_spec(options.spec));
    model.uses.push_back(std::move(use));
  }
  if (options.use.empty()) return model;
  std::erase_if(model.uses, [&](const PositionUse& use) { return use.name != options.use; });
  if (!model.uses.empty()) return model;
  return Error{ErrorKind::usage, fmt::format("--use: no use is named '{}'", options.use)};
}

Json lane_list(const PairNumbers& pairs) {
  Json list = Json::array();
  for (const auto& lanes : pairs.lanes) list.push_back(Json(lanes));
  return list;
}

/// The members that apply, in the order in which they are documented.
Json use_json(const Entry& entry, const NumbersRequest& request) {
  const auto precision =
      request.angles == AngleMode::float32 ? Precision::float32 : Precision::float64;
  Json json = {{"name", entry.use->name},
               {"layers", entry.use->layers},
               {"method", std::string(method_name(entry.use->spec))}};
  if (!entry.numbers.ok()) {
    json["error"] = entry.numbers.error().message;
    return json;
  }
  const MethodNumbers& numbers = *entry.numbers;
  if (numbers.pairs) {
    const PairNumbers& pairs = *numbers.pairs;
    json["layout"] = write_json(pairs.layout);
    json["head_dim"] = pairs.head_dim;
    json["rotary_dim"] = pairs.rotary_dim;
    json["rotary_start"] = pairs.rotary_start;
    json["lanes"] = lane_list(pairs);
    if (pairs.num_axes > 1) json["axis"] = pairs.axis;
  }
  if (numbers.dim) json["dim"] = *numbers.dim;
  if (numbers.num_rows) json["num_rows"] = *numbers.num_rows;
  if (!numbers.inv_freq.empty()) {
    json["inv_freq"] = number_list(numbers.inv_freq, precision);
    json["wavelength"] = number_list(numbers.wavelength, precision);
  }
  if (numbers.context_length) json["context_length"] = *numbers.context_length;
  if (numbers.pairs) json["attention_factor"] = numbers.pairs->attention_factor;
  json["softmax_factor"] = numbers.softmax_factor;
  const auto& positions = request.positions;
  if (positions.size() == 1) json["positions"] = positions.front();
  if (positions.size() > 1) json["positions"] = positions;
  if (!positions.empty() && numbers.pairs) {
    const auto width = static_cast<int64_t>(numbers.inv_freq.size());
    json["cos"] = number_rows(numbers.cos, width, precision);
    json["sin"] = number_rows(numbers.sin, width, precision);
  }
  if (!numbers.rows.empty()) json["rows"] = number_rows(numbers.rows, *numbers.dim, precision);
  if (!numbers.row_indices.empty()) json["row_indices"] = numbers.row_indices;
  if (!numbers.slopes.empty()) json["slopes"] = number_list(numbers.slopes, Precision::float64);
  if (!numbers.buckets.empty()) json["buckets"] = numbers.buckets;
  if (!numbers.clipped_rows.empty()) json["clipped_rows"] = numbers.clipped_rows;
  if (!numbers.logit_scale.empty()) json["logit_scale"] = numbers.logit_scale;
  return json;
}

std::string value_text(double value, AngleMode angles) {
  return angles == AngleMode::float32 ? fmt::format("{}", static_cast<float>(value))
                                      : fmt::format("{}", value);
}

/// A row per pair or sinusoid: its frequency and what it does at each position.
std::string frequency_table(const MethodNumbers& numbers, const PositionUse& use,
                            const NumbersRequest& request, const Console& console) {
  const bool pairs = numbers.pairs.has_value();
  std::vector<Column> columns = {{pairs ? "pair" : "wave", Align::right}};
  if (pairs) columns.push_back({"lanes", Align::right});
  columns.push_back({"inv_freq", Align::left});
  columns.push_back({"wavelength", Align::right});
  if (use.trained_length) {
    columns.push_back({fmt::format("turns in {}", *use.trained_length), Align::right});
  }
  const size_t shown = pairs && !request.positions.empty() ? request.positions.front().size() : 0;
  for (size_t i = 0; i < shown; ++i) {
    columns.push_back({fmt::format("cos {}", request.positions.front()[i]), Align::right});
    columns.push_back({fmt::format("sin {}", request.positions.front()[i]), Align::right});
  }
  TextTable table(columns);
  // People read six digits; programs that read a pipe get them all.
  const auto angle = [&](double value) {
    return console.terminal() ? fmt::format("{:.6f}", value) : value_text(value, request.angles);
  };
  for (size_t i = 0; i < numbers.inv_freq.size(); ++i) {
    std::vector<TextTable::Cell> row = {fmt::format("{}", i)};
    if (pairs) {
      const auto& lanes = numbers.pairs->lanes[i];
      row.emplace_back(fmt::format("{},{}", lanes[0], lanes[1]));
    }
    row.emplace_back(value_text(numbers.inv_freq[i], request.angles));
    row.emplace_back(console.terminal() ? wavelength_text(numbers.wavelength[i])
                                        : value_text(numbers.wavelength[i], request.angles));
    if (use.trained_length) {
      const double turns = static_cast<double>(*use.trained_length) / numbers.wavelength[i];
      row.emplace_back(fmt::format("{:.4g}", turns), turns < 1 ? Style::caution : Style::plain);
    }
    for (size_t at = 0; at < shown; ++at) {
      row.emplace_back(angle(numbers.cos[at * numbers.inv_freq.size() + i]));
      row.emplace_back(angle(numbers.sin[at * numbers.inv_freq.size() + i]));
    }
    table.add(std::move(row));
  }
  return table.text(console);
}

/// A row per head: its slope.
std::string slope_table(const MethodNumbers& numbers, const Console& console) {
  TextTable table({{"head", Align::right}, {"slope", Align::left}});
  for (size_t i = 0; i < numbers.slopes.size(); ++i) {
    table.add({fmt::format("{}", i), fmt::format("{}", numbers.slopes[i])});
  }
  return table.text(console);
}

/// A row per position with one whole number for it.
std::string index_table(std::string_view of, std::string_view what,
                        std::span<const int64_t> positions, std::span<const int64_t> values,
                        const Console& console) {
  TextTable table({{std::string(of), Align::right}, {std::string(what), Align::right}});
  for (size_t i = 0; i < values.size(); ++i) {
    table.add({fmt::format("{}", positions[i]), fmt::format("{}", values[i])});
  }
  return table.text(console);
}

std::string rows_table(const MethodNumbers& numbers, const NumbersRequest& request,
                       const Console& console) {
  std::vector<Column> columns = {{"lane", Align::right}};
  const std::vector<int64_t>& positions = request.positions.front();
  for (const int64_t position : positions) {
    columns.push_back({fmt::format("row at {}", position), Align::right});
  }
  TextTable table(columns);
  const auto dim = static_cast<size_t>(*numbers.dim);
  for (size_t lane = 0; lane < dim; ++lane) {
    std::vector<TextTable::Cell> row = {fmt::format("{}", lane)};
    for (size_t i = 0; i < positions.size(); ++i) {
      const double value = numbers.rows[i * dim + lane];
      row.emplace_back(console.terminal() ? fmt::format("{:.6f}", value)
                                          : value_text(value, request.angles));
    }
    table.add(std::move(row));
  }
  return table.text(console);
}

std::string use_text(const Entry& entry, const NumbersRequest& request, const Console& console) {
  const PositionUse& use = *entry.use;
  std::string text = console.styled(Style::heading, printable(use.name));
  if (!use.layers.empty()) text += fmt::format("  layers {}", layers_text(use.layers));
  text += fmt::format("  {}", method_name(use.spec));
  if (!entry.numbers.ok()) {
    return text + "\n" + console.styled(Style::bad, printable(entry.numbers.error().message)) +
           "\n";
  }
  const MethodNumbers& numbers = *entry.numbers;
  if (numbers.pairs) {
    text += fmt::format("  {}  attention_factor {}",
                        write_json(numbers.pairs->layout).get<std::string>(),
                        numbers.pairs->attention_factor);
  }
  if (numbers.softmax_factor != 1)
    text += fmt::format("  softmax_factor {}", numbers.softmax_factor);
  if (numbers.context_length) text += fmt::format("  context_length {}", *numbers.context_length);
  text += "\n";
  const std::span<const int64_t> positions =
      request.positions.empty() ? std::span<const int64_t>() : request.positions.front();
  if (!numbers.inv_freq.empty()) text += frequency_table(numbers, use, request, console);
  if (!numbers.rows.empty()) text += rows_table(numbers, request, console);
  if (!numbers.slopes.empty()) text += slope_table(numbers, console);
  if (!numbers.row_indices.empty()) {
    text += index_table("position", "row", positions, numbers.row_indices, console);
  }
  if (!numbers.buckets.empty()) {
    text += index_table("distance", "bucket", positions, numbers.buckets, console);
  }
  if (!numbers.clipped_rows.empty()) {
    text += index_table("distance", "row", positions, numbers.clipped_rows, console);
  }
  if (!numbers.logit_scale.empty()) {
    TextTable table({{"query position", Align::right}, {"logit_scale", Align::left}});
    for (size_t i = 0; i < positions.size(); ++i) {
      table.add({fmt::format("{}", positions[i]), fmt::format("{}", numbers.logit_scale[i])});
    }
    text += table.text(console);
  }
  return text;
}

Result<std::vector<Entry>> compute(const Options& options, const ModelPositions& model,
                                   NumbersRequest& request) {
  request.angles = value_of<AngleMode>(options.angles);
  request.role = options.role == "key" ? HeadRole::key : HeadRole::query;
  request.context_length = options.context_length;
  if (!options.positions.empty()) {
    HODO_ASSIGN(request.positions, parse_position_axes("--positions", options.positions));
  }
  std::vector<Entry> entries;
  for (const PositionUse& use : model.uses) {
    NumbersRequest own = request;
    // Without positions the frequencies are those that inspect reports.
    if (own.positions.empty() && !own.context_length) own.context_length = report_length(use);
    entries.push_back({&use, method_numbers(use.spec, own)});
  }
  return entries;
}

ExitCode run(const Options& options, Console& console) {
  const Result<ModelPositions> model = read_uses(options);
  if (!model.ok()) return report(console, verb, model.error());
  for (const std::string& warning : model->warnings) {
    console.complain(fmt::format("hodo {}: warning: {}", verb, warning));
  }
  NumbersRequest request;
  const Result<std::vector<Entry>> entries = compute(options, *model, request);
  if (!entries.ok()) return report(console, verb, entries.error());

  ExitCode code = ExitCode::ok;
  Json uses = Json::array();
  std::string text;
  for (const Entry& entry : *entries) {
    if (options.json) {
      uses.push_back(use_json(entry, request));
    } else {
      if (!text.empty()) text += "\n";
      text += use_text(entry, request, console);
    }
    if (entry.numbers.ok()) continue;
    const Error& error = entry.numbers.error();
    code = report(console, verb, {error.kind, entry.use->name + ": " + error.message});
  }
  if (options.json) text = json_text({{"schema", 1}, {"uses", std::move(uses)}});
  const Status status = console.write(text);
  return status.ok() ? code : report(console, verb, status.error());
}

Command::Action set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  refuse_empty(
      app.add_option("PATH", options->path, "A config.json or a model folder; - is standard input")
          ->type_name("PATH"));
  refuse_empty(
      app.add_option("--spec", options->spec, "A method as JSON, or @FILE, in place of PATH")
          ->type_name("JSON"));
  refuse_empty(app.add_option("--positions", options->positions,
                              "Positions, such as 0,1,5-8 or 0-100:25; A;B;C for one list per axis")
                   ->type_name("LIST"));
  limit_to_range(
      app.add_option(
             "--context-length", options->context_length,
             "Length that length-dependent schedules use; without it the largest position + 1")
          ->type_name("N"),
      1, max_position + 1);
  limit_to(app.add_option("--angles", options->angles,
                          "exact, or float32 as Hugging Face computes them"),
           words_of<AngleMode>());
  limit_to(app.add_option("--role", options->role, "Side of the score, for xPos"),
           {"query", "key"});
  refuse_empty(
      app.add_option("--use", options->use, "Only the use of this name, such as full_attention")
          ->type_name("NAME"));
  app.add_flag("--json", options->json, "Write JSON");
  return [options](Console& console) { return run(*options, console); };
}

const Registration table(
    {.name = verb,
     .section = Section::numbers,
     .summary = "The exact numbers of a model's position methods",
     .example = "hodo table path/to/model --positions 0,1,4095,131071 --json",
     .details =
         "cos and sin include the attention factor. One list of positions serves every axis of a "
         "method with several, as for text. For T5 and Shaw the positions are distances, query - "
         "key. wavelength is null for a pair that does not turn.",
     .set_up = set_up});

}  // namespace
}  // namespace hodometer::cli
