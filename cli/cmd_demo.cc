#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/text_table.h"
#include "cli/usage.h"
#include "hodometer/tools/order_demo.h"

namespace hodometer::cli {
namespace {

constexpr std::string_view verb = "demo";

struct Options {
  std::string topic;
  std::string first;
  std::string second;
  bool json = false;
};

bool is_bidirectional(const OrderRow& row) {
  return std::holds_alternative<BidirectionalMask>(row.mask);
}

std::string title(const OrderRow& row) {
  return row.name + (is_bidirectional(row) ? "" : ", causal mask");
}

TextTable::Cell verdict(const OrderRow& row) {
  if (!row.tells_apart) return TextTable::Cell("cannot tell", Style::caution);
  if (row.name == "none") return TextTable::Cell("tells by the mask alone");
  return TextTable::Cell("tells", Style::good);
}

/// The first lane of a word's first copy in both sentences.
std::string lane_text(const OrderWord& word) {
  return fmt::format("{:6.3f} {:6.3f}", word.first.front(), word.second.front());
}

/// Words that fit beside the other columns; the JSON has all.
size_t shown_words(const OrderDemo& demo, const Console& console) {
  const std::vector<OrderWord>& words = demo.rows.front().words;
  int room = console.columns() - 55;
  size_t count = 0;
  for (const OrderWord& word : words) {
    room -= 2 + std::max(13, display_width(printable(word.word)));
    if (room < 0) break;
    ++count;
  }
  return std::max<size_t>(1, count);
}

std::string demo_text(const OrderDemo& demo, const Console& console) {
  std::string text = fmt::format("first   {}\nsecond  {}\n\n",
                                 printable(fmt::format("{}", fmt::join(demo.first, " "))),
                                 printable(fmt::format("{}", fmt::join(demo.second, " "))));
  const std::vector<OrderWord>& words = demo.rows.front().words;
  const size_t shown = shown_words(demo, console);
  std::vector<Column> columns = {{"method"}};
  for (size_t i = 0; i < shown; ++i) columns.push_back({printable(words[i].word)});
  columns.push_back({"difference", Align::right});
  columns.push_back({"tells them apart?"});
  TextTable table(columns);
  for (const OrderRow& row : demo.rows) {
    std::vector<TextTable::Cell> cells = {title(row)};
    for (size_t i = 0; i < shown; ++i) cells.emplace_back(lane_text(row.words[i]));
    cells.emplace_back(row.largest_difference == 0 ? "0"
                                                   : fmt::format("{:.4f}", row.largest_difference));
    cells.push_back(verdict(row));
    table.add(std::move(cells));
  }
  text += table.aligned_text(console, 0);
  if (shown < words.size()) {
    text += fmt::format("Words not shown: {}; --json has all.\n", words.size() - shown);
  }
  std::string notes =
      "A word has one vector wherever it stands. Under each word: lane 0 of what attention gives "
      "for it in the first and in the second sentence. Difference: the largest of any word and "
      "lane. Cannot tell: all outputs are equal bit for bit. There is no mask but where one is "
      "named.";
  for (const OrderRow& row : demo.rows) {
    if (!row.note.empty()) notes += "\n" + row.note;
  }
  return text + "\n" + wrapped(notes, 0, static_cast<size_t>(std::min(100, console.columns())));
}

Json demo_json(const OrderDemo& demo) {
  Json methods = Json::array();
  for (const OrderRow& row : demo.rows) {
    Json words = Json::array();
    for (const OrderWord& word : row.words) {
      words.push_back({{"word", word.word},
                       {"first", number_rows(word.first, order_demo_lanes, Precision::float64)},
                       {"second", number_rows(word.second, order_demo_lanes, Precision::float64)},
                       {"difference", word.difference}});
    }
    Json method = {{"name", row.name},
                   {"spec", write_json(row.spec)},
                   {"mask", std::visit([](const auto& mask) { return mask.name; }, row.mask)},
                   {"tells_apart", row.tells_apart},
                   {"difference", row.largest_difference}};
    if (!row.note.empty()) method["note"] = row.note;
    method["words"] = std::move(words);
    methods.push_back(std::move(method));
  }
  return {{"schema", 1},
          {"first", demo.first},
          {"second", demo.second},
          {"methods", std::move(methods)}};
}

ExitCode run(const Options& options, Console& console) {
  const Result<OrderDemo> demo = order_demo(options.first, options.second);
  if (!demo.ok()) return report(console, verb, demo.error());
  const Status status =
      console.write(options.json ? json_text(demo_json(*demo)) : demo_text(*demo, console));
  return status.ok() ? ExitCode::ok : report(console, verb, status.error());
}

Command::Action set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  limit_to(app.add_option("TOPIC", options->topic, "order: what tells two orders of words apart")
               ->required(),
           {"order"});
  app.add_option("FIRST", options->first, "A sentence")->required();
  app.add_option("SECOND", options->second, "The same words in another order")->required();
  app.add_flag("--json", options->json, "Write JSON");
  return [options](Console& console) { return run(*options, console); };
}

const Registration registered(
    {.name = verb,
     .section = Section::numbers,
     .summary = "Show which methods tell two orders of the same words apart",
     .example = R"(hodo demo order "dog bites man" "man bites dog")",
     .details =
         "Every word gets a vector from its bytes, which is its query, key and value in every "
         "place. Attention over both sentences, in double precision, then gives each word an "
         "output in each. Where a word is there several times, its outputs are compared in "
         "ascending order. Learned tables are drawn from a fixed seed.",
     .set_up = set_up});

}  // namespace
}  // namespace hodometer::cli
