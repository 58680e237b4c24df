#include <cmath>
#include <string>
#include <vector>

#include "cli/run_hodo_test.h"

namespace hodometer::cli::testing {
namespace {

using nlohmann::json;

std::string rotary(int head_dim, const std::string& layout) {
  return R"({"method":"rotary","head_dim":)" + std::to_string(head_dim) + R"(,"layout":")" +
         layout + R"(","base":10000})";
}

Outcome apply(const std::string& spec, const std::string& positions, const std::string& input,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"apply", "--spec", spec, "--positions", positions};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return hodo(arguments, input);
}

json y_of(const std::string& spec, const std::string& positions, const std::string& input,
          const std::vector<std::string>& more = {}) {
  const Outcome outcome = apply(spec, positions, input, more);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().value("schema", 0), 1);
  return outcome.json().value("y", json());
}

void expect_near(const json& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i].get<double>(), want[i], tolerance);
}

constexpr const char* one_to_eight = R"({"x":[1,2,3,4,5,6,7,8]})";

TEST(Apply, TheTwoLayoutsGiveTheirOwnOrder) {
  expect_near(y_of(rotary(8, "interleaved"), "1", one_to_eight),
              {-1.14264, 1.92208, 2.58568, 4.27952, 4.93975, 6.0497, 6.992, 8.007}, 1e-5);
  expect_near(y_of(rotary(8, "half_split"), "1", one_to_eight),
              {-3.66705, 1.39101, 2.92985, 3.992, 3.54298, 6.16969, 7.02965, 8.004}, 1e-5);
}

TEST(Apply, PartialRotaryLeavesTheOtherLanes) {
  const json y =
      y_of(R"({"method":"rotary","head_dim":8,"rotary_dim":4,"layout":"half_split","base":10000})",
           "9", one_to_eight);
  for (size_t lane = 4; lane < 8; ++lane) EXPECT_EQ(y[lane], static_cast<double>(lane + 1));
  EXPECT_NEAR(y[1].get<double>(), 2 * std::cos(0.09) - 4 * std::sin(0.09), 1e-6);
}

TEST(Apply, InverseGivesBackWhatWasThere) {
  const std::string far = "2147483647";
  for (const std::string& layout : {std::string("half_split"), std::string("interleaved")}) {
    const Outcome there = apply(rotary(8, layout), far, one_to_eight);
    const std::string back = json({{"x", there.json()["y"]}}).dump();
    expect_near(y_of(rotary(8, layout), far, back, {"--inverse"}), {1, 2, 3, 4, 5, 6, 7, 8}, 3e-6);
  }
}

TEST(Apply, EveryShapeMeansTheSame) {
  const std::string spec = rotary(2, "half_split");
  const json flat = y_of(spec, "5,70000", R"({"x":[[1,0],[1,0]]})");
  EXPECT_NEAR(flat[1][0].get<double>(), std::cos(70000.0), 1e-7);
  const json heads = y_of(spec, "5,70000", R"({"x":[[[1,0],[2,0]],[[1,0],[2,0]]]})");
  EXPECT_EQ(heads[1][0], flat[1]);
  const json batch = y_of(spec, "5,70000", R"({"x":[[[[1,0]],[[1,0]]],[[[0,1]],[[1,0]]]]})");
  EXPECT_EQ(batch[0][1][0], flat[1]);
  EXPECT_EQ(batch[1][1][0], flat[1]);
}

TEST(Apply, RoundsToTheElementType) {
  const std::string input = R"({"x":[1.00390625,0]})";
  EXPECT_EQ(y_of(rotary(2, "half_split"), "0", input, {"--dtype", "bfloat16"})[0], 1.0);
  EXPECT_EQ(y_of(rotary(2, "half_split"), "0", input, {"--dtype", "float16"})[0], 1.0039062);
  // The digits of a float32, not of its double.
  EXPECT_TRUE(has(apply(rotary(2, "half_split"), "0", R"({"x":[0.1,0]})").out, "[0.1, 0.0]"));
}

TEST(Apply, TakesAPositionPerAxis) {
  const std::string spec = R"({"method":"mrope","head_dim":6,"layout":"interleaved","base":1e4,
      "mrope_section":[1,1,1],"section_layout":"chunked"})";
  const json y =
      y_of(spec, "0,1,2;0,0,1;0,1,0", R"({"x":[[1,0,1,0,1,0],[1,0,1,0,1,0],[1,0,1,0,1,0]]})");
  EXPECT_NEAR(y[2][0].get<double>(), std::cos(2.0), 1e-7);
  EXPECT_EQ(y[1][2], 1.0);
  EXPECT_NEAR(y[1][4].get<double>(), std::cos(std::pow(1e4, -2.0 / 3)), 1e-7);
  EXPECT_EQ(apply(spec, "0;1", R"({"x":[1,0,1,0,1,0]})").code, 2);
}

TEST(Apply, AddsRows) {
  expect_near(
      y_of(R"({"method":"sinusoidal","dim":4,"layout":"halves"})", "100000", R"({"x":[1,1,1,1]})"),
      {1 + std::sin(1e5), 1 + std::sin(1e3), 1 + std::cos(1e5), 1 + std::cos(1e3)}, 2e-7);
  const std::string learned =
      R"({"method":"learned","max_position_embeddings":2,"dim":2,"offset":1})";
  const std::string input = R"({"x":[[1,2]],"table":[[0,0],[10,20],[30,40]]})";
  EXPECT_EQ(y_of(learned, "1", input), json({{31.0, 42.0}}));
  const Outcome beyond = apply(learned, "2", input);
  EXPECT_EQ(beyond.code, 3);
  EXPECT_TRUE(has(beyond.err, "2"));
}

TEST(Apply, BiasesNeedNoNumbers) {
  const json bias = y_of(R"({"method":"alibi","num_heads":2})", "70000,70001", "",
                         {"--key-positions", "0,69999-70001"});
  EXPECT_EQ(bias[0][0], json({-4375.0, -0.0625, 0.0, -0.0625}));
  EXPECT_EQ(bias[1][1][1], -0.0078125);
  EXPECT_EQ(
      y_of(R"({"method":"shaw","max_distance":2})", "10", "", {"--key-positions", "0,9-20:11"}),
      json({{0, 1, 4}}));
  const std::string t5 = R"({"method":"t5_bias","num_heads":1,"bidirectional":false,
      "relative_attention_num_buckets":4,"relative_attention_max_distance":8})";
  EXPECT_EQ(y_of(t5, "20", "", {"--key-positions", "20,19,18,0,30"}), json({{0, 1, 2, 3, 0}}));
  EXPECT_EQ(y_of(t5, "20", R"({"x":[[5],[6],[7],[8]]})", {"--key-positions", "20,0"}),
            json({{{5.0, 8.0}}}));
}

TEST(Apply, NopeChangesNothing) {
  EXPECT_EQ(y_of(R"({"method":"nope"})", "131071", R"({"x":[1.5,-2]})"), json({1.5, -2.0}));
}

TEST(Apply, XposNeedsARole) {
  const std::string spec = R"({"method":"xpos","head_dim":4,"layout":"interleaved","base":1e4})";
  const std::string input = R"({"x":[1,0,1,0]})";
  EXPECT_NE(apply(spec, "512", input).code, 0);
  const double query = y_of(spec, "512", input, {"--role", "query"})[0].get<double>();
  const double key = y_of(spec, "512", input, {"--role", "key"})[0].get<double>();
  EXPECT_NEAR(query * key, std::cos(512.0) * std::cos(512.0), 1e-6);
  EXPECT_GT(std::fabs(query - key), 0.1);
}

TEST(Apply, SaysWhereTheInputIsWrong) {
  const auto failure = [](const std::string& input) {
    const Outcome outcome = apply(rotary(2, "half_split"), "0,1", input);
    EXPECT_EQ(outcome.code, 3) << input;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_TRUE(has(failure(""), "\"x\""));
  EXPECT_TRUE(has(failure("{"), "byte"));
  EXPECT_TRUE(has(failure("[1]"), "got a list of 1"));
  EXPECT_TRUE(has(failure(R"({"y":[1,2]})"), "\"y\""));
  EXPECT_TRUE(has(failure(R"({"x":[[1,2],[3]]})"), "x[1]"));
  EXPECT_TRUE(has(failure(R"({"x":[[1,2],[3,null]]})"), "x[1][1]"));
  EXPECT_TRUE(has(failure(R"({"x":[[1,2],[3,"4"]]})"), "x[1][1]"));
  EXPECT_TRUE(has(failure(R"({"x":[[1,2],3]})"), "x[1]"));
  EXPECT_TRUE(has(failure(R"({"x":[[1,2],[3,1e39]]})"), "x[1][1]"));
  EXPECT_TRUE(has(failure(R"({"x":[[1,2],[3,NaN]]})"), "byte"));
  EXPECT_TRUE(has(failure(R"({"x":[]})"), "empty"));
  EXPECT_TRUE(has(failure(R"({"x":[[[[[1,2]]]]]})"), "4 deep"));
  EXPECT_TRUE(has(failure(R"({"x":[[1,2,3],[1,2,3]]})"), "[2, 3]"));
  EXPECT_TRUE(has(failure(R"({"x":[[1,2]]})"), "[1, 2]"));
  EXPECT_TRUE(has(failure(R"({"x":3})"), "lists"));
}

// Fault: input that the method has no use for, dropped in silence.
TEST(Apply, RefusesWhatTheMethodDoesNotRead) {
  const std::string input = R"({"x":[1,2],"table":[[1,2]]})";
  const std::string rows = R"({"method":"sinusoidal","dim":2,"layout":"halves"})";
  const std::string t5 = R"({"method":"t5_bias","num_heads":1,"bidirectional":true})";
  for (const std::string& spec : {rotary(2, "half_split"), rows, t5}) {
    const Outcome outcome = apply(spec, "0", input);
    EXPECT_EQ(outcome.code, 3) << spec;
    EXPECT_TRUE(has(outcome.err, "\"table\""));
  }
  for (const std::string& spec : {rotary(2, "half_split"), rows}) {
    const Outcome outcome = apply(spec, "0", R"({"x":[1,2]})", {"--key-positions", "0"});
    EXPECT_EQ(outcome.code, 2) << spec;
    EXPECT_TRUE(has(outcome.err, "--key-positions"));
  }
}

TEST(Apply, RefusesPositionsBeyondTheLimit) {
  EXPECT_NE(apply(rotary(2, "half_split"), "2147483648", R"({"x":[1,0]})").code, 0);
  EXPECT_EQ(apply(R"({"method":"shaw","max_distance":2})", "9223372036854775807", "").code, 3);
  // Fault: the absolute value of the smallest number, which is negative.
  const std::string t5 = R"({"method":"t5_bias","num_heads":1,"bidirectional":true})";
  for (const std::string& spec : {std::string(R"({"method":"shaw","max_distance":2})"), t5}) {
    for (const char* far : {"-9223372036854775808", "-2147483648", "2147483648"}) {
      const std::string positions = std::string("--positions=") + far;
      const std::string keys = std::string("--key-positions=") + far;
      EXPECT_EQ(hodo({"apply", "--spec", spec, positions, "--key-positions", "5"}).code, 3) << far;
      EXPECT_EQ(hodo({"apply", "--spec", spec, "--positions", "5", keys}).code, 3) << far;
      EXPECT_EQ(hodo({"table", "--spec", spec, positions}).code, 3) << far;
    }
  }
}

}  // namespace
}  // namespace hodometer::cli::testing
