#include "hodometer/tools/order_demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "hodometer/ops/exact_attention.h"
#include "hodometer/tools/numbers.h"

namespace hodometer {
namespace {

constexpr size_t most_words = 64;
constexpr auto lanes = static_cast<size_t>(order_demo_lanes);

/// Numbers in [-2, 2): SplitMix64 (Steele, Lea and Flood 2014).
std::vector<double> drawn(uint64_t state, size_t count) {
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    numbers.push_back(static_cast<double>(z >> 11) * 0x1p-51 - 2);
  }
  return numbers;
}

/// FNV-1a over the bytes.
uint64_t hash_of(std::string_view word) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

Result<std::vector<std::string>> words_of(std::string_view sentence, std::string_view which) {
  constexpr std::string_view spaces = " \t\r\n";
  std::vector<std::string> words;
  for (size_t at = 0; (at = sentence.find_first_not_of(spaces, at)) != std::string_view::npos;) {
    const size_t end = std::min(sentence.find_first_of(spaces, at), sentence.size());
    words.emplace_back(sentence.substr(at, end - at));
    at = end;
  }
  if (!words.empty() && words.size() <= most_words) return words;
  return Error{ErrorKind::usage, fmt::format("the {} sentence has {} words: expected 1 to {}",
                                             which, words.size(), most_words)};
}

std::string times(std::ptrdiff_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

/// Two sentences of the same words, as often, in another order.
Status check_words(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::vector<std::string> all = first;
  all.insert(all.end(), second.begin(), second.end());
  for (const std::string& word : all) {
    const auto before = std::count(first.begin(), first.end(), word);
    const auto after = std::count(second.begin(), second.end(), word);
    if (before == after) continue;
    return Error{ErrorKind::usage,
                 fmt::format("the word \"{}\" is in the first sentence {} and in the second {}: "
                             "expected the same words in another order",
                             word, times(before), times(after))};
  }
  if (first != second) return {};
  return Error{ErrorKind::usage, "the sentences are equal: expected another order"};
}

struct Setting {
  std::string_view name;
  std::string_view spec;
  Mask mask = BidirectionalMask();
};

/// Each method as text is read with it, over order_demo_lanes. ALiBi comes with both masks: its
/// penalty is the same on both sides, so that without a mask a sentence and its mirror image are
/// alike to it.
const std::vector<Setting>& settings() {
  static const std::vector<Setting> list = {
      {"none", R"({"method":"nope"})"},
      {"none", R"({"method":"nope"})", CausalMask()},
      {"sinusoidal", R"({"method":"sinusoidal","dim":8,"layout":"interleaved"})"},
      {"learned", R"({"method":"learned","dim":8,"max_position_embeddings":64})"},
      {"rotary", R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000})"},
      {"mrope", R"({"method":"mrope","head_dim":8,"layout":"half_split","base":10000,
                    "mrope_section":[2,1,1],"section_layout":"chunked"})"},
      {"xpos", R"({"method":"xpos","head_dim":8,"layout":"interleaved","base":10000})"},
      {"alibi", R"({"method":"alibi","slopes":[0.5]})"},
      {"alibi", R"({"method":"alibi","slopes":[0.5]})", CausalMask()},
      {"t5_bias", R"({"method":"t5_bias","num_heads":1,"bidirectional":true})"},
      {"shaw", R"({"method":"shaw","max_distance":4,"values":true})"},
  };
  return list;
}

/// Adds the row of each position where the method has rows; attention is then without a method.
Status add_rows_to(std::vector<double>& vectors, PositionSpec& spec, size_t length) {
  const bool computed = std::holds_alternative<Sinusoidal>(spec.method);
  if (!computed && !std::holds_alternative<Learned>(spec.method)) return {};
  NumbersRequest request{.positions = {{}}};
  for (size_t i = 0; i < length; ++i) request.positions.front().push_back(static_cast<int64_t>(i));
  HODO_ASSIGN(MethodNumbers numbers, method_numbers(spec, request));
  if (!computed) {
    const auto table = drawn(order_demo_seed, static_cast<size_t>(*numbers.num_rows) * lanes);
    for (const int64_t row : numbers.row_indices) {
      const auto begin = table.begin() + row * order_demo_lanes;
      numbers.rows.insert(numbers.rows.end(), begin, begin + order_demo_lanes);
    }
  }
  for (size_t i = 0; i < vectors.size(); ++i) vectors[i] += numbers.rows[i];
  spec.method = Nope();
  return {};
}

/// What attention over a sentence gives, [words, lanes].
Result<std::vector<double>> outputs(PositionSpec spec, const Mask& mask,
                                    const std::vector<std::string>& words) {
  std::vector<double> vectors;
  for (const std::string& word : words) {
    const auto vector = drawn(hash_of(word), lanes);
    vectors.insert(vectors.end(), vector.begin(), vector.end());
  }
  HODO_RETURN_IF_ERROR(add_rows_to(vectors, spec, words.size()));

  ExactAttentionOptions options;
  options.mask = mask;
  HODO_ASSIGN(const Plan plan, make_plan(spec, static_cast<int64_t>(words.size())));
  const auto learned = [](int64_t rows, int64_t width) {
    return drawn(order_demo_seed, static_cast<size_t>(rows * width));
  };
  std::vector<double> table;
  if (plan.distance_bias && plan.distance_bias->slopes.empty()) {
    const int64_t buckets = plan.distance_bias->num_buckets();
    table = learned(buckets, 1);
    options.buckets = {table, buckets, 1};
  }
  if (plan.query_table_bias) {
    const int64_t rows = plan.query_table_bias->num_rows();
    table = learned(rows, order_demo_lanes);
    options.key_rows = options.value_rows = {table, rows, order_demo_lanes};
  }
  const ExactHeads heads{vectors, static_cast<int64_t>(words.size()), 1, order_demo_lanes};
  HODO_ASSIGN(ExactAttention result,
              exact_attention(spec, plan.context_length, heads, heads, heads, options));
  return std::move(result.out);
}

/// The outputs of the copies of a word, in ascending order.
std::vector<double> outputs_of(const std::string& word, const std::vector<std::string>& words,
                               const std::vector<double>& all) {
  std::vector<std::vector<double>> copies;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != word) continue;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * lanes);
    copies.emplace_back(begin, begin + order_demo_lanes);
  }
  std::sort(copies.begin(), copies.end());
  std::vector<double> flat;
  for (const auto& copy : copies) flat.insert(flat.end(), copy.begin(), copy.end());
  return flat;
}

Result<OrderRow> row_of(const Setting& setting, const OrderDemo& demo) {
  OrderRow row;
  row.name = setting.name;
  row.mask = setting.mask;
  HODO_ASSIGN(row.spec, parse_spec(setting.spec));
  HODO_ASSIGN(const auto first, outputs(row.spec, row.mask, demo.first));
  HODO_ASSIGN(const auto second, outputs(row.spec, row.mask, demo.second));
  for (const std::string& word : demo.first) {
    const bool is_done = std::any_of(row.words.begin(), row.words.end(),
                                     [&](const OrderWord& done) { return done.word == word; });
    if (is_done) continue;
    OrderWord one{word, outputs_of(word, demo.first, first), outputs_of(word, demo.second, second)};
    for (size_t lane = 0; lane < one.first.size(); ++lane) {
      const double a = one.first[lane], b = one.second[lane];
      one.difference = std::max(one.difference, std::abs(a - b));
      row.tells_apart = row.tells_apart || std::bit_cast<uint64_t>(a) != std::bit_cast<uint64_t>(b);
    }
    row.largest_difference = std::max(row.largest_difference, one.difference);
    row.words.push_back(std::move(one));
  }
  if (row.name == "alibi" && !row.tells_apart) {
    row.note =
        "alibi without a mask goes by how far words are from each other, not in which direction: "
        "a sentence and its mirror image have the same distances.";
  }
  return row;
}

}  // namespace

Result<OrderDemo> order_demo(std::string_view first, std::string_view second) {
  OrderDemo demo;
  HODO_ASSIGN(demo.first, words_of(first, "first"));
  HODO_ASSIGN(demo.second, words_of(second, "second"));
  HODO_RETURN_IF_ERROR(check_words(demo.first, demo.second));
  for (const Setting& setting : settings()) {
    HODO_ASSIGN(OrderRow row, row_of(setting, demo));
    demo.rows.push_back(std::move(row));
  }
  return demo;
}

}  // namespace hodometer
