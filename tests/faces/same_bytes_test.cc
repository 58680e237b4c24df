// The same spec and the same numbers through every face give the same bytes.

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "cli/run_hodo_test.h"
#include "hodometer/capi/hodometer_c.h"
#include "hodometer/methods/position_spec.h"
#include "hodometer/ops/add_rows.h"
#include "hodometer/ops/bias_rows.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/plan/plan.h"

namespace hodometer {
namespace {

using cli::testing::hodo;
using nlohmann::json;

const std::vector<int64_t> positions = {0, 1, 4097, 131071, 2147483647};
constexpr int64_t heads = 3;

struct Case {
  std::string spec;
  int64_t width;
};

const std::vector<Case> rotations = {
    {R"({"method":"rotary","head_dim":34,"layout":"half_split","base":10000})", 34},
    {R"({"method":"rotary","head_dim":40,"rotary_dim":20,"layout":"interleaved","base":500000,
         "schedule":{"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,
                     "original_max_position_embeddings":8192}})",
     40},
    {R"({"method":"rotary","head_dim":64,"layout":"half_split","base":10000,
         "schedule":{"rope_type":"yarn","factor":4,"original_max_position_embeddings":32768}})",
     64},
    {R"({"method":"xpos","head_dim":16,"layout":"interleaved","base":10000,"scale_base":1e9})", 16},
    {R"({"method":"nope"})", 24},
};

std::vector<float> random_values(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::string position_list() {
  std::string list;
  for (const int64_t position : positions) {
    list += (list.empty() ? "" : ",") + std::to_string(position);
  }
  return list;
}

// `values` as nested lists of the given lengths.
json nested(const std::vector<float>& values, const std::vector<int64_t>& shape) {
  size_t next = 0;
  const auto list = [&](const auto& self, size_t axis) -> json {
    if (axis == shape.size()) return values[next++];
    json made = json::array();
    for (int64_t i = 0; i < shape[axis]; ++i) made.push_back(self(self, axis + 1));
    return made;
  };
  return list(list, 0);
}

void flatten(const json& lists, std::vector<float>& values) {
  if (!lists.is_array()) return values.push_back(lists.get<float>());
  for (const json& item : lists) flatten(item, values);
}

std::vector<float> from_program(std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(), "apply");
  const cli::testing::Outcome outcome = hodo(arguments, input);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<float> values;
  flatten(outcome.json().value("y", json()), values);
  return values;
}

void expect_same_bits(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i]))
        << "value " << i << ": " << got[i] << " and " << want[i];
  }
}

Plan plan_of(const std::string& spec) { return *make_plan(*parse_spec(spec), 4096); }

struct CPlan {
  explicit CPlan(const std::string& spec) {
    EXPECT_EQ(hodo_plan_create(spec.c_str(), 4096, HODO_ANGLES_EXACT, &plan), HODO_OK)
        << hodo_last_error();
  }
  ~CPlan() { hodo_plan_free(plan); }
  hodo_plan* plan = nullptr;
};

TEST(Faces, RotateHeads) {
  const auto length = static_cast<int64_t>(positions.size());
  for (const auto& [spec, width] : rotations) {
    SCOPED_TRACE(spec);
    const std::vector<float> x = random_values(static_cast<size_t>(length * heads * width));

    std::vector<float> library = x;
    RotateOptions options;
    options.role = HeadRole::query;
    ASSERT_TRUE(rotate(plan_of(spec),
                       HeadsView{library.data(), DType::float32, 1, length, heads, width,
                                 length * heads * width, heads * width, width},
                       PositionView::shared_ids(positions), options)
                    .ok());

    std::vector<float> c = x;
    const CPlan plan(spec);
    const hodo_heads view = {
        c.data(),      HODO_FLOAT32, 1, length, heads, width, length * heads * width,
        heads * width, width};
    const hodo_positions ids = hodo_positions_ids(positions.data(), 1, 1, length);
    ASSERT_EQ(hodo_rotate(plan.plan, &view, 1, &ids, HODO_FORWARD, HODO_QUERY, nullptr), HODO_OK)
        << hodo_last_error();
    expect_same_bits(c, library);

    const std::string input = json({{"x", nested(x, {length, heads, width})}}).dump();
    expect_same_bits(from_program({"--spec", spec, "--positions", position_list(), "--role",
                                   "query", "--context-length", "4096"},
                                  input),
                     library);
  }
}

TEST(Faces, AddRows) {
  const std::string spec = R"({"method":"sinusoidal","dim":48,"layout":"interleaved"})";
  const auto length = static_cast<int64_t>(positions.size());
  const std::vector<float> x = random_values(static_cast<size_t>(length * 48));

  std::vector<float> library = x;
  ASSERT_TRUE(
      add_rows(plan_of(spec),
               EmbeddingsView{library.data(), DType::float32, 1, length, 48, length * 48, 48},
               PositionView::shared_ids(positions))
          .ok());

  std::vector<float> c = x;
  const CPlan plan(spec);
  const hodo_embeddings view = {c.data(), HODO_FLOAT32, 1, length, 48, length * 48, 48};
  const hodo_positions ids = hodo_positions_ids(positions.data(), 1, 1, length);
  ASSERT_EQ(hodo_rows_add(plan.plan, &view, &ids, nullptr, nullptr), HODO_OK) << hodo_last_error();
  expect_same_bits(c, library);

  const std::string input = json({{"x", nested(x, {length, 48})}}).dump();
  expect_same_bits(from_program({"--spec", spec, "--positions", position_list()}, input), library);
}

TEST(Faces, BiasRows) {
  const std::vector<int64_t> queries = {5, 131071};
  const std::vector<int64_t> keys = {0, 1, 4, 5, 131070};
  const std::vector<float> table = random_values(32 * 4);
  const struct {
    std::string spec;
    std::vector<float> table;
  } cases[] = {
      {R"({"method":"alibi","num_heads":12})", {}},
      {R"({"method":"t5_bias","num_heads":4,"bidirectional":true})", table},
  };
  for (const auto& [spec, learned] : cases) {
    SCOPED_TRACE(spec);
    const size_t num_heads = learned.empty() ? 12 : 4;
    const std::vector<float> library = *bias_rows(plan_of(spec), learned, queries, keys);
    ASSERT_EQ(library.size(), num_heads * queries.size() * keys.size());

    std::vector<float> c(library.size());
    const CPlan plan(spec);
    ASSERT_EQ(hodo_bias_rows(plan.plan, learned.empty() ? nullptr : learned.data(), learned.size(),
                             queries.data(), queries.size(), keys.data(), keys.size(), c.data(),
                             c.size()),
              HODO_OK)
        << hodo_last_error();
    expect_same_bits(c, library);

    const std::string input = learned.empty() ? "" : json({{"x", nested(learned, {32, 4})}}).dump();
    expect_same_bits(from_program({"--spec", spec, "--positions", "5,131071", "--key-positions",
                                   "0,1,4,5,131070"},
                                  input),
                     library);
  }
}

// A spec that one face refuses, all refuse in the same words.
TEST(Faces, RefuseInTheSameWords) {
  for (const std::string spec :
       {R"({"method":"rotary","head_dim":63,"layout":"half_split","base":10000})",
        R"({"method":"rotary","head_dim":64,"base":10000})", R"({"method":"alibi"})",
        R"({"method":"rotary","head_dim":64,"layout":"half_split","base":10000,"theta":5})",
        R"({"method":"spiral"})"}) {
    const std::string words = parse_spec(spec).error().message;
    hodo_plan* plan = nullptr;
    EXPECT_NE(hodo_plan_create(spec.c_str(), 4096, HODO_ANGLES_EXACT, &plan), HODO_OK);
    EXPECT_EQ(hodo_last_error(), words);
    const cli::testing::Outcome outcome = hodo({"apply", "--spec", spec, "--positions", "0"}, "{}");
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(cli::testing::has(outcome.err, words));
  }
}

}  // namespace
}  // namespace hodometer
