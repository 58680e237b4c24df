#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/nested_list.h"
#include "cli/position_list.h"
#include "cli/read_file.h"
#include "cli/spec_input.h"
#include "hodometer/kernels/convert.h"
#include "hodometer/ops/add_rows.h"
#include "hodometer/ops/bias_rows.h"
#include "hodometer/ops/rotate.h"

namespace hodometer::cli {
namespace {

constexpr std::string_view verb = "apply";

struct Options {
  std::string spec;
  std::string positions;
  std::string key_positions;
  std::string dtype = "float32";
  std::string role;
  std::string angles = "exact";
  std::optional<int64_t> context_length;
  bool inverse = false;
  bool json = false;
};

/// Everything that the command line says, understood.
struct Call {
  Plan plan;
  std::vector<int64_t> positions;  ///< [axes, tokens]
  int64_t axes = 1;
  int64_t tokens = 0;
  std::vector<int64_t> key_positions;
  DType dtype = DType::float32;
  RotateOptions options;

  PositionView view() const {
    if (axes == 1) return PositionView::shared_ids(positions).same_on_axes(plan.num_axes());
    return PositionView::axes(positions.data(), axes, 1, tokens);
  }
};

DType dtype_of(std::string_view name) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    if (dtype_name(dtype) == name) return dtype;
  }
  return DType::float32;
}

Result<Call> read_call(const Options& options) {
  Call call;
  HODO_ASSIGN(const PositionSpec spec, read_spec(options.spec));
  HODO_ASSIGN(const auto axes, parse_position_axes("--positions", options.positions));
  call.axes = static_cast<int64_t>(axes.size());
  call.tokens = static_cast<int64_t>(axes.front().size());
  for (const auto& list : axes) {
    call.positions.insert(call.positions.end(), list.begin(), list.end());
  }
  call.key_positions = axes.front();
  if (!options.key_positions.empty()) {
    HODO_ASSIGN(call.key_positions, parse_positions("--key-positions", options.key_positions));
  }
  const int64_t largest = *std::max_element(call.positions.begin(), call.positions.end());
  const int64_t length =
      options.context_length.value_or(std::clamp<int64_t>(largest, 0, max_position) + 1);
  HODO_ASSIGN(call.plan, make_plan(spec, length, value_of<AngleMode>(options.angles)));
  if (call.axes > 1 && call.axes != call.plan.num_axes()) {
    return Error{ErrorKind::usage, fmt::format("--positions: {} lists, but {} has {} axes",
                                               call.axes, method_name(spec), call.plan.num_axes())};
  }
  call.dtype = dtype_of(options.dtype);
  if (options.inverse) call.options.direction = Direction::inverse;
  if (options.inverse && call.plan.rotations.empty() &&
      !std::holds_alternative<Nope>(spec.method)) {
    return Error{ErrorKind::usage, fmt::format("--inverse: {} does not rotate", method_name(spec))};
  }
  if (!options.key_positions.empty() && !call.plan.distance_bias && !call.plan.query_table_bias) {
    return Error{ErrorKind::usage,
                 fmt::format("--key-positions: {} adds no bias to scores", method_name(spec))};
  }
  if (!options.role.empty()) {
    call.options.role = options.role == "key" ? HeadRole::key : HeadRole::query;
  }
  return call;
}

/// Standard input as an object with x and table; empty input has neither.
Result<Json> read_input() {
  if (isatty(STDIN_FILENO) == 1) return Json::object();
  HODO_ASSIGN(const std::string text, read_file("-", max_input_bytes));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  HODO_ASSIGN(Json input, parse_json(text, "standard input"));
  if (!input.is_object()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("standard input: expected {{\"x\": ...}}, got {}", describe(input))};
  }
  for (const auto& [key, value] : input.items()) {
    if (key == "x" || key == "table") continue;
    return Error{ErrorKind::bad_input,
                 fmt::format("standard input: unknown member \"{}\": expected x or table", key)};
  }
  return input;
}

Result<NestedList> member(const Json& input, const char* name, std::string_view what) {
  const auto found = input.find(name);
  if (found != input.end()) return read_nested_list(*found, name);
  return Error{ErrorKind::bad_input,
               fmt::format("standard input: missing member \"{}\": {}", name, what)};
}

Error wrong_shape(const NestedList& list, std::string_view name, std::string_view expected) {
  return {ErrorKind::bad_input, fmt::format("{} has shape [{}]: expected {}", name,
                                            fmt::join(list.shape, ", "), expected)};
}

/// The numbers in the element type of the call, for as long as an operation works on them.
class Elements {
 public:
  Elements(DType dtype, const std::vector<float>& values)
      : dtype_(dtype),
        count_(static_cast<int64_t>(values.size())),
        bytes_(values.size() * static_cast<size_t>(dtype_size(dtype))) {
    from_float32(dtype, values.data(), bytes_.data(), count_);
  }
  void* data() { return bytes_.data(); }
  std::vector<float> values() const {
    std::vector<float> result(static_cast<size_t>(count_));
    to_float32(dtype_, bytes_.data(), result.data(), count_);
    return result;
  }

 private:
  DType dtype_;
  int64_t count_;
  std::vector<std::byte> bytes_;
};

/// What a shape says about tokens: [d], [n, d], [n, heads, d] or [batch, n, heads, d] for heads;
/// [d], [n, d] or [batch, n, d] for embeddings.
struct Shape {
  int64_t batch = 1;
  int64_t length = 1;
  int64_t heads = 1;
};

Result<Shape> check_shape(const NestedList& x, const Call& call, int64_t width, bool has_heads) {
  const auto& s = x.shape;
  const size_t most = has_heads ? 4 : 3;
  const std::string expected =
      has_heads ? fmt::format(
                      "[{0}], [{1}, {0}], [{1}, heads, {0}] or [batch, {1}, heads, {0}] "
                      "for {1} positions",
                      width, call.tokens)
                : fmt::format("[{0}], [{1}, {0}] or [batch, {1}, {0}] for {1} positions", width,
                              call.tokens);
  if (s.size() > most || x.last() != width) return wrong_shape(x, "x", expected);
  Shape shape;
  if (has_heads && s.size() >= 3) shape.heads = s[s.size() - 2];
  if (s.size() == 2) shape.length = s[0];
  if (s.size() == 3) shape.length = has_heads ? s[0] : s[1];
  if (s.size() == 3 && !has_heads) shape.batch = s[0];
  if (s.size() == 4) shape.batch = s[0];
  if (s.size() == 4) shape.length = s[1];
  if (shape.length != call.tokens) return wrong_shape(x, "x", expected);
  return shape;
}

Result<Json> rotated(const Call& call, const Json& input) {
  HODO_ASSIGN(const NestedList x, member(input, "x", "the heads to rotate"));
  const int64_t width = call.plan.rotations.empty() ? x.last() : call.plan.head_dim();
  HODO_ASSIGN(const Shape shape, check_shape(x, call, width, true));
  Elements elements(call.dtype, x.values);
  HODO_RETURN_IF_ERROR(rotate(
      call.plan,
      HeadsView::bshd(elements.data(), call.dtype, shape.batch, shape.length, shape.heads, width),
      call.view(), call.options));
  return nested_json(x.shape, elements.values());
}

Result<Json> with_rows(const Call& call, const Json& input) {
  HODO_ASSIGN(const NestedList x, member(input, "x", "the embeddings that rows are added to"));
  const AddRow& row = call.plan.row->row;
  HODO_ASSIGN(const Shape shape, check_shape(x, call, row.dim, false));
  NestedList rows;
  std::optional<LearnedTable> table;
  if (!row.sinusoid) {
    HODO_ASSIGN(rows, member(input, "table", "the learned rows, [rows, dim]"));
    if (rows.shape.size() != 2) return wrong_shape(rows, "table", "[rows, dim]");
    table = LearnedTable::contiguous(rows.values.data(), rows.shape[0], rows.shape[1]);
  }
  Elements elements(call.dtype, x.values);
  HODO_RETURN_IF_ERROR(add_rows(
      call.plan,
      EmbeddingsView::contiguous(elements.data(), call.dtype, shape.batch, shape.length, row.dim),
      call.view(), table));
  return nested_json(x.shape, elements.values());
}

Result<Json> score_bias(const Call& call, std::span<const float> table) {
  HODO_ASSIGN(const std::vector<float> rows,
              bias_rows(call.plan, table, call.positions, call.key_positions));
  Elements elements(call.dtype, rows);
  return nested_json({call.plan.distance_bias->num_heads, call.tokens,
                      static_cast<int64_t>(call.key_positions.size())},
                     elements.values());
}

/// [queries, keys] of a whole number for each distance.
template <class Of>
Result<Json> by_distance(const Call& call, const Of& of) {
  constexpr int64_t most = int64_t{1} << 24;
  const auto keys = static_cast<int64_t>(call.key_positions.size());
  if (call.tokens > most / keys) {
    return Error{ErrorKind::usage, fmt::format("{} queries by {} keys: expected at most {} values",
                                               call.tokens, keys, most)};
  }
  HODO_RETURN_IF_ERROR(check_distance_positions("--positions", call.positions));
  HODO_RETURN_IF_ERROR(check_distance_positions("--key-positions", call.key_positions));
  Json rows = Json::array();
  for (const int64_t query : call.positions) {
    Json row = Json::array();
    for (const int64_t key : call.key_positions) row.push_back(of(query - key));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<Json> learned_bias(const Call& call, const Json& input) {
  const DistanceBias& bias = *call.plan.distance_bias;
  if (!input.contains("x")) {
    return by_distance(call, [&](int64_t distance) { return bias.bucket(distance); });
  }
  HODO_ASSIGN(const NestedList table, member(input, "x", ""));
  if (table.shape != std::vector<int64_t>{bias.num_buckets(), bias.num_heads}) {
    return wrong_shape(table, "x",
                       fmt::format("the learned table, [{}, {}]: buckets by heads",
                                   bias.num_buckets(), bias.num_heads));
  }
  return score_bias(call, table.values);
}

Result<Json> apply(const Call& call) {
  const Plan& plan = call.plan;
  if (plan.query_table_bias) {
    return by_distance(call,
                       [&](int64_t distance) { return plan.query_table_bias->row(distance); });
  }
  if (plan.distance_bias && !plan.distance_bias->slopes.empty()) return score_bias(call, {});
  HODO_ASSIGN(const Json input, read_input());
  const bool learned_rows = plan.row && !plan.row->row.sinusoid;
  if (input.contains("table") && !learned_rows) {
    return Error{ErrorKind::bad_input,
                 fmt::format("standard input: member \"table\": {} reads no learned rows",
                             method_name(plan.spec))};
  }
  if (plan.distance_bias) return learned_bias(call, input);
  return plan.row ? with_rows(call, input) : rotated(call, input);
}

ExitCode run(const Options& options, Console& console) {
  const Result<Call> call = read_call(options);
  if (!call.ok()) return report(console, verb, call.error());
  Result<Json> y = apply(*call);
  if (!y.ok()) return report(console, verb, y.error());
  Json json = {{"schema", 1}, {"y", std::move(*y)}};
  if (!call->plan.logit_scales.empty()) {
    Json& scales = json["logit_scale"] = Json::array();
    for (int64_t i = 0; i < call->tokens; ++i) {
      scales.push_back(call->plan.logit_scale_at(call->positions[static_cast<size_t>(i)]));
    }
  }
  const Status status = console.write(json_text(json));
  return status.ok() ? ExitCode::ok : report(console, verb, status.error());
}

Command::Action set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  refuse_empty(app.add_option("--spec", options->spec, "The method as JSON, or @FILE")
                   ->type_name("JSON")
                   ->required());
  app.add_option("--positions", options->positions,
                 "Position of each token, such as 0,1,5-8; A;B;C for one list per axis")
      ->type_name("LIST")
      ->required();
  refuse_empty(app.add_option("--key-positions", options->key_positions,
                              "Positions of the keys of a bias; without it those of the queries")
                   ->type_name("LIST"));
  app.add_flag("--inverse", options->inverse, "Undo the rotation");
  std::vector<std::string> dtypes;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    dtypes.emplace_back(dtype_name(dtype));
  }
  limit_to(app.add_option("--dtype", options->dtype,
                          "Type that x is rounded to and that y is rounded to"),
           dtypes);
  limit_to(app.add_option("--angles", options->angles,
                          "exact, or float32 as Hugging Face computes them"),
           words_of<AngleMode>());
  limit_to(app.add_option("--role", options->role, "Side of the score, needed by xPos"),
           {"query", "key"});
  limit_to_range(
      app.add_option(
             "--context-length", options->context_length,
             "Length that length-dependent schedules use; without it the largest position + 1")
          ->type_name("N"),
      1, max_position + 1);
  app.add_flag("--json", options->json, "Write JSON, which is what this command always writes");
  return [options](Console& console) { return run(*options, console); };
}

const Registration registered(
    {.name = verb,
     .section = Section::numbers,
     .summary = "Apply a method to numbers from standard input",
     .example = R"(echo '{"x":[1,2,3,4]}' | hodo apply --positions 1 \
  --spec '{"method":"rotary","head_dim":4,"layout":"half_split","base":10000}')",
     .details =
         "Reads {\"x\": lists} and writes {\"schema\": 1, \"y\": lists} of the same shape.\n"
         "Rotary methods: x is [head_dim], [n, head_dim], [n, heads, head_dim] or "
         "[batch, n, heads, head_dim] for n positions.\n"
         "Sinusoidal and learned rows: x is [dim], [n, dim] or [batch, n, dim]; learned rows also "
         "need \"table\": [rows, dim].\n"
         "ALiBi: no input; y is [heads, queries, keys].\n"
         "T5: x is the learned table [buckets, heads] and y [heads, queries, keys]; without x, y "
         "is "
         "the bucket of each query and key.\n"
         "Shaw: no input; y is the table row of each query and key.\n"
         "A spec with rules for the score also gives \"logit_scale\", one per position; y is not "
         "multiplied by it.",
     .set_up = set_up});

}  // namespace
}  // namespace hodometer::cli
