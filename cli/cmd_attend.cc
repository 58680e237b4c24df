#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/nested_list.h"
#include "cli/read_file.h"
#include "cli/spec_input.h"
#include "cli/text_table.h"
#include "hodometer/ops/exact_attention.h"

namespace hodometer::cli {
namespace {

constexpr std::string_view verb = "attend";

using Numbers = NestedNumbers<double>;

struct Options {
  std::string input = "-";
  std::string spec;
  std::optional<int64_t> context_length;
  bool json = false;
};

/// What the nesting of q, k or v says.
struct Shape {
  int64_t batch = 1;
  int64_t length = 1;
  int64_t heads = 1;
  int64_t width = 1;

  explicit Shape(const std::vector<int64_t>& shape) : width(shape.back()) {
    length = shape.size() == 4 ? shape[1] : shape[0];
    if (shape.size() >= 3) heads = shape[shape.size() - 2];
    if (shape.size() == 4) batch = shape[0];
  }

  /// Sequence b of the batch.
  ExactHeads heads_of(const Numbers& numbers, int64_t b) const {
    const auto size = static_cast<size_t>(length * heads * width);
    return {std::span(numbers.values).subspan(static_cast<size_t>(b) * size, size), length, heads,
            width};
  }
};

/// Positions of the tokens, [axes, tokens].
struct Positions {
  std::vector<int64_t> ids;
  int64_t axes = 1;
  int64_t tokens = 0;

  static Positions run(int64_t first, int64_t tokens) {
    Positions positions{{}, 1, tokens};
    for (int64_t i = 0; i < tokens; ++i) positions.ids.push_back(first + i);
    return positions;
  }
  PositionView view(int64_t num_axes) const {
    if (axes == 1) return PositionView::shared_ids(ids).same_on_axes(num_axes);
    return PositionView::axes(ids.data(), axes, 1, tokens);
  }
  /// "7", or "0,3,1" over several axes.
  std::string text(int64_t token) const {
    std::vector<int64_t> place;
    for (int64_t a = 0; a < axes; ++a) {
      place.push_back(ids[static_cast<size_t>(a * tokens + token)]);
    }
    return fmt::format("{}", fmt::join(place, ","));
  }
};

/// The input, understood.
struct Input {
  Numbers q, k, v;
  Positions query_positions, key_positions;
  bool has_query_positions = false;  ///< else they are the default, which may not be used
  std::optional<std::vector<SegmentId>> query_segments, key_segments;
  Mask mask = CausalMask();
  std::optional<double> scale;
  double soft_cap = 0;
  std::vector<double> sinks;
  Numbers buckets, key_rows, value_rows;
};

constexpr std::array<std::string_view, 14> known_members = {
    "q",        "k",         "v",        "query_positions", "key_positions", "query_segments",
    "mask",     "scale",     "soft_cap", "key_segments",    "sinks",         "buckets",
    "key_rows", "value_rows"};

Error wrong(std::string text) { return {ErrorKind::bad_input, std::move(text)}; }

Error wrong_shape(const Numbers& list, std::string_view name, std::string_view expected) {
  return wrong(
      fmt::format("{} has shape [{}]: expected {}", name, fmt::join(list.shape, ", "), expected));
}

/// The whole input as an object. A terminal has none.
Result<Json> read_object(const std::string& path) {
  const std::string source = path == "-" ? "standard input" : path;
  if (path == "-" && isatty(STDIN_FILENO) == 1) {
    return wrong(source + ": expected {\"q\": ..., \"k\": ..., \"v\": ...}, got a terminal");
  }
  HODO_ASSIGN(const std::string text, read_file(path, max_input_bytes));
  HODO_ASSIGN(Json input, parse_json(text, source));
  if (!input.is_object()) {
    return wrong(fmt::format("{}: expected {{\"q\": ..., \"k\": ..., \"v\": ...}}, got {}", source,
                             describe(input)));
  }
  for (const auto& [key, value] : input.items()) {
    if (std::find(known_members.begin(), known_members.end(), key) != known_members.end()) continue;
    return wrong(fmt::format("{}: unknown member \"{}\": expected {}", source, key,
                             fmt::join(known_members, ", ")));
  }
  for (const char* name : {"q", "k", "v"}) {
    if (input.contains(name)) continue;
    return wrong(
        fmt::format("{}: missing member \"{}\": [length, heads, head_dim] numbers", source, name));
  }
  return input;
}

Result<Numbers> read_heads(const Json& input, const char* name, size_t levels) {
  HODO_ASSIGN(Numbers list, read_nested_list<double>(input[name], name));
  const size_t depth = list.shape.size();
  if (depth < 2) {
    return wrong_shape(list, name,
                       "[length, head_dim], [length, heads, head_dim] or [batch, length, heads, "
                       "head_dim]");
  }
  if (levels != 0 && depth != levels) {
    return wrong_shape(list, name, fmt::format("lists nested {} deep, as those of q", levels));
  }
  return list;
}

/// A table of two levels; empty when the input has none.
Status read_rows(const Json& input, const char* name, Numbers& rows) {
  const auto found = input.find(name);
  if (found == input.end()) return {};
  HODO_ASSIGN(rows, read_nested_list<double>(*found, name));
  if (rows.shape.size() == 2) return {};
  return wrong_shape(rows, name, "[rows, width]");
}

template <class Member>
Status read_member(const Json& input, const char* name, Member& out) {
  const auto found = input.find(name);
  return found == input.end() ? Status() : read_json(*found, name, out);
}

Status check_count(const char* name, size_t got, int64_t wanted, std::string_view of) {
  if (static_cast<int64_t>(got) == wanted) return {};
  return wrong(
      fmt::format("{} has {} numbers: expected {}, one for each {}", name, got, wanted, of));
}

/// One list, or a list of lists with one for each axis.
Status read_positions(const Json& input, const char* name, std::string_view of, int64_t tokens,
                      Positions& out) {
  const auto found = input.find(name);
  if (found == input.end()) return {};
  std::vector<std::vector<int64_t>> axes(1);
  if (found->is_array() && !found->empty() && found->front().is_array()) {
    HODO_RETURN_IF_ERROR(read_json(*found, name, axes));
  } else {
    HODO_RETURN_IF_ERROR(read_json(*found, name, axes.front()));
  }
  out = {{}, static_cast<int64_t>(axes.size()), tokens};
  for (const auto& axis : axes) {
    HODO_RETURN_IF_ERROR(check_count(name, axis.size(), tokens, of));
    out.ids.insert(out.ids.end(), axis.begin(), axis.end());
  }
  return {};
}

Status read_segments(const Json& input, const char* name, std::string_view of, int64_t tokens,
                     std::optional<std::vector<SegmentId>>& out) {
  std::optional<std::vector<int64_t>> numbers;
  HODO_RETURN_IF_ERROR(read_member(input, name, numbers));
  if (!numbers) return {};
  out.emplace();
  for (const int64_t number : *numbers) out->push_back(SegmentId(number));
  return check_count(name, out->size(), tokens, of);
}

/// A mask with nothing to say beyond its name may be the name alone.
Status read_mask(const Json& input, Mask& out) {
  const auto found = input.find("mask");
  if (found == input.end()) return {};
  if (!found->is_string()) return read_json(*found, "mask", out);
  Json object = Json::object();
  object["kind"] = *found;
  return read_json(object, "mask", out);
}

Result<Input> read_input(const std::string& path) {
  HODO_ASSIGN(const Json json, read_object(path));
  Input input;
  HODO_ASSIGN(input.q, read_heads(json, "q", 0));
  HODO_ASSIGN(input.k, read_heads(json, "k", input.q.shape.size()));
  HODO_ASSIGN(input.v, read_heads(json, "v", input.q.shape.size()));
  const Shape q(input.q.shape), k(input.k.shape), v(input.v.shape);
  if (k.batch != q.batch || v.batch != q.batch) {
    return wrong(fmt::format("q, k and v have batches of {}, {} and {}: expected equal ones",
                             q.batch, k.batch, v.batch));
  }
  input.key_positions = Positions::run(0, k.length);
  input.query_positions = Positions::run(std::max<int64_t>(0, k.length - q.length), q.length);
  input.has_query_positions = json.contains("query_positions");
  HODO_RETURN_IF_ERROR(
      read_positions(json, "query_positions", "query", q.length, input.query_positions));
  HODO_RETURN_IF_ERROR(read_positions(json, "key_positions", "key", k.length, input.key_positions));
  HODO_RETURN_IF_ERROR(
      read_segments(json, "query_segments", "query", q.length, input.query_segments));
  HODO_RETURN_IF_ERROR(read_segments(json, "key_segments", "key", k.length, input.key_segments));
  HODO_RETURN_IF_ERROR(read_mask(json, input.mask));
  HODO_RETURN_IF_ERROR(read_member(json, "scale", input.scale));
  HODO_RETURN_IF_ERROR(read_member(json, "soft_cap", input.soft_cap));
  HODO_RETURN_IF_ERROR(read_member(json, "sinks", input.sinks));
  HODO_RETURN_IF_ERROR(read_rows(json, "buckets", input.buckets));
  HODO_RETURN_IF_ERROR(read_rows(json, "key_rows", input.key_rows));
  HODO_RETURN_IF_ERROR(read_rows(json, "value_rows", input.value_rows));
  return input;
}

ExactRows rows_of(const Numbers& list) {
  if (list.shape.empty()) return {};
  return {list.values, list.shape[0], list.shape[1]};
}

/// Of every sequence of the batch.
Result<std::vector<ExactAttention>> attend(const Options& options, const Input& input) {
  HODO_ASSIGN(const PositionSpec spec, read_spec(options.spec));
  int64_t largest = 0;
  for (const Positions* positions : {&input.query_positions, &input.key_positions}) {
    for (const int64_t position : positions->ids) largest = std::max(largest, position);
  }
  const int64_t length = options.context_length.value_or(std::min(largest, max_position) + 1);
  HODO_ASSIGN(const Plan plan, make_plan(spec, length));
  ExactAttentionOptions call;
  if (input.has_query_positions) {
    call.query_positions = input.query_positions.view(plan.num_axes());
  }
  call.key_positions = input.key_positions.view(plan.num_axes());
  call.mask = input.mask;
  if (input.query_segments) call.query_segments = *input.query_segments;
  if (input.key_segments) call.key_segments = *input.key_segments;
  call.scale = input.scale;
  call.soft_cap = input.soft_cap;
  call.sinks = input.sinks;
  call.buckets = rows_of(input.buckets);
  call.key_rows = rows_of(input.key_rows);
  call.value_rows = rows_of(input.value_rows);
  const Shape q(input.q.shape), k(input.k.shape), v(input.v.shape);
  std::vector<ExactAttention> all;
  for (int64_t b = 0; b < q.batch; ++b) {
    auto one = exact_attention(spec, length, q.heads_of(input.q, b), k.heads_of(input.k, b),
                               v.heads_of(input.v, b), call);
    // Whatever does not fit came from the input, not from the command line.
    if (!one.ok() && one.error().kind == ErrorKind::usage) return wrong(one.error().message);
    HODO_RETURN_IF_ERROR(one);
    all.push_back(std::move(*one));
  }
  return all;
}

/// The batch in one piece where q had one, else the one sequence.
Json member_json(const Input& input, const std::vector<ExactAttention>& all,
                 std::vector<double> ExactAttention::*member, std::vector<int64_t> shape) {
  std::vector<double> values;
  for (const ExactAttention& one : all) {
    values.insert(values.end(), (one.*member).begin(), (one.*member).end());
  }
  if (input.q.shape.size() == 4) shape.insert(shape.begin(), input.q.shape.front());
  return nested_json(shape, values);
}

Json attention_json(const Input& input, const std::vector<ExactAttention>& all) {
  const Shape q(input.q.shape), k(input.k.shape), v(input.v.shape);
  std::vector<int64_t> out = {q.length, q.heads, v.width};
  if (input.q.shape.size() == 2) out = {q.length, v.width};
  return {
      {"schema", 1},
      {"outputs", member_json(input, all, &ExactAttention::out, out)},
      {"weights", member_json(input, all, &ExactAttention::weights, {q.heads, q.length, k.length})},
      {"log_sums", member_json(input, all, &ExactAttention::log_sums, {q.length, q.heads})}};
}

/// A character for each of a row's weights, as high as its part of the largest.
std::string bars(std::span<const double> weights, double largest) {
  constexpr std::array<std::string_view, 9> heights = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const double weight : weights) {
    const double part = largest == 0 ? 0 : weight / largest;
    text += heights[static_cast<size_t>(std::ceil(8 * part))];
  }
  return text;
}

/// A number for each query and column.
struct Matrix {
  std::string title;
  std::vector<std::string> rows, columns;
  std::function<double(size_t row, size_t column)> value;
  int decimals;  ///< on a terminal
  bool has_bars;
};

/// One table, or on a terminal as many below each other as its width asks for.
std::string matrix_text(const Matrix& matrix, const Console& console) {
  size_t widest = 0;
  for (const std::string& title : matrix.columns) widest = std::max(widest, title.size());
  const size_t cell = std::max<size_t>(widest, 5 + static_cast<size_t>(matrix.decimals)) + 3;
  const size_t room = static_cast<size_t>(console.columns()) - 12;
  const size_t fitting =
      console.terminal() ? std::max<size_t>(1, room / cell) : matrix.columns.size();
  std::string text;
  for (size_t first = 0; first < matrix.columns.size(); first += fitting) {
    const size_t count = std::min(fitting, matrix.columns.size() - first);
    std::vector<Column> columns = {{"query", Align::right}};
    for (size_t i = 0; i < count; ++i) columns.push_back({matrix.columns[first + i], Align::right});
    const bool has_bars = matrix.has_bars && console.terminal();
    if (has_bars) columns.push_back({"", Align::left});
    TextTable table(columns);
    for (size_t row = 0; row < matrix.rows.size(); ++row) {
      std::vector<double> values;
      for (size_t i = 0; i < matrix.columns.size(); ++i) values.push_back(matrix.value(row, i));
      const auto shown = std::span(values).subspan(first, count);
      std::vector<TextTable::Cell> cells = {matrix.rows[row]};
      for (const double value : shown) {
        // People read few digits; programs that read a pipe get them all.
        cells.emplace_back(console.terminal() ? fmt::format("{:.{}f}", value, matrix.decimals)
                                              : fmt::format("{}", value));
      }
      if (has_bars)
        cells.emplace_back(bars(shown, *std::max_element(values.begin(), values.end())));
      table.add(std::move(cells));
    }
    text += console.styled(Style::heading, matrix.title) + "\n" + table.text(console);
  }
  return text;
}

std::string attention_text(const Input& input, const std::vector<ExactAttention>& all,
                           const Console& console) {
  const Shape q(input.q.shape), k(input.k.shape), v(input.v.shape);
  std::vector<std::string> queries, keys, lanes;
  for (int64_t i = 0; i < q.length; ++i) queries.push_back(input.query_positions.text(i));
  for (int64_t n = 0; n < k.length; ++n) keys.push_back("key " + input.key_positions.text(n));
  for (int64_t lane = 0; lane < v.width; ++lane) lanes.push_back(fmt::format("lane {}", lane));
  std::string text;
  for (size_t b = 0; b < all.size(); ++b) {
    const ExactAttention& one = all[b];
    for (int64_t h = 0; h < q.heads; ++h) {
      const std::string place =
          fmt::format("{}head {}", all.size() == 1 ? "" : fmt::format("sequence {}, ", b), h);
      const auto weight = [&](size_t row, size_t column) {
        const auto first = static_cast<size_t>(h * q.length) + row;
        return 100 * one.weights[first * keys.size() + column];
      };
      const auto output = [&](size_t row, size_t column) {
        const auto first = row * static_cast<size_t>(q.heads) + static_cast<size_t>(h);
        return one.out[first * lanes.size() + column];
      };
      if (!text.empty()) text += "\n";
      text +=
          matrix_text({place + ": weights in per cent", queries, keys, weight, 1, true}, console);
      text += matrix_text({place + ": outputs", queries, lanes, output, 6, false}, console);
    }
  }
  return text;
}

ExitCode run(const Options& options, Console& console) {
  const Result<Input> input = read_input(options.input);
  if (!input.ok()) return report(console, verb, input.error());
  const auto all = attend(options, *input);
  if (!all.ok()) return report(console, verb, all.error());
  const Status status = console.write(options.json ? json_text(attention_json(*input, *all))
                                                   : attention_text(*input, *all, console));
  return status.ok() ? ExitCode::ok : report(console, verb, status.error());
}

Command::Action set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("PATH", options->input, "A file with the input; standard input when absent or -")
      ->type_name("PATH");
  app.add_option("--spec", options->spec, "The method as JSON, or @FILE")
      ->type_name("JSON")
      ->required();
  app.add_option("--context-length", options->context_length,
                 "Length that length-dependent schedules use; without it the largest position + 1")
      ->type_name("N");
  app.add_flag("--json", options->json, "Write JSON");
  return [options](Console& console) { return run(*options, console); };
}

const Registration registered(
    {.name = verb,
     .section = Section::numbers,
     .summary = "Small exact attention by any method, with every weight",
     .example = R"(echo '{"q":[[0]],"k":[[0],[0],[0],[0],[0],[0]],"v":[[1],[2],[3],[4],[5],[6]]}' |
  hodo attend --spec '{"method":"alibi","slopes":[0.5]}')",
     .details =
         "Reads {\"q\": lists, \"k\": lists, \"v\": lists}, each [length, head_dim], [length, "
         "heads, head_dim] or [batch, length, heads, head_dim], and computes in double precision. "
         "k and v may have fewer heads than q.\n"
         "More members, all optional: \"query_positions\" and \"key_positions\" (one list, or one "
         "for each axis; without them keys are at 0, 1, ... and queries at the last of them), "
         "\"mask\" (\"causal\" when absent, \"bidirectional\", {\"kind\":\"window\",\"left\":3}, "
         "{\"kind\":\"chunked\",\"size\":4} or {\"kind\":\"prefix\",\"length\":2}), "
         "\"query_segments\" and \"key_segments\", \"scale\", \"soft_cap\", \"sinks\": [heads], "
         "and what the method learns: \"buckets\": [buckets, heads] of T5, \"key_rows\" and "
         "\"value_rows\": [rows, width] of Shaw.\n"
         "Sinusoidal and learned rows act on embeddings, before there are q, k and v: see hodo "
         "apply.",
     .set_up = set_up});

}  // namespace
}  // namespace hodometer::cli
