#include <cmath>
#include <string>
#include <vector>

#include "cli/run_hodo_test.h"

namespace hodometer::cli::testing {
namespace {

using nlohmann::json;

constexpr const char* nope = R"({"method":"nope"})";
constexpr const char* alibi = R"({"method":"alibi","slopes":[0.5]})";
/// Six keys that the one query likes as much.
constexpr const char* six =
    R"({"q":[[0]],"k":[[0],[0],[0],[0],[0],[0]],"v":[[1],[2],[3],[4],[5],[6]]})";

Outcome attend(const std::string& spec, const std::string& input,
               const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"attend", "--spec", spec};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return hodo(arguments, input);
}

json json_of(const std::string& spec, const std::string& input,
             const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {"--json"};
  all.insert(all.end(), more.begin(), more.end());
  const Outcome outcome = attend(spec, input, all);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().value("schema", 0), 1);
  return outcome.json();
}

/// Input over `six` with more members.
std::string six_and(const std::string& members) {
  return std::string(six, std::string(six).size() - 1) + "," + members + "}";
}

TEST(Attend, AlibiFallsOff) {
  const json result = json_of(alibi, six);
  const std::vector<double> wanted = {3.4, 5.6, 9.2, 15.2, 25.1, 41.4};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(100 * result["weights"][0][0][i].get<double>(), wanted[i], 0.05);
  }
  const Folder folder;
  const std::string file = folder.file("six.json", six);
  const Outcome shown = hodo_on_terminal({"attend", "--spec", alibi, file}, {{"NO_COLOR", "1"}});
  EXPECT_TRUE(has(shown.out, "    5    3.4    5.6    9.2   15.2   25.1   41.4  ▁▂▂▃▅█"));
  EXPECT_TRUE(has(shown.out, "    5  4.772880"));
  EXPECT_EQ(shown.out.find("\x1b"), std::string::npos);
  EXPECT_TRUE(has(attend(alibi, six).out, "query\tkey 0\tkey 1"));
  EXPECT_TRUE(has(attend(alibi, six).out, "\t41.40854404196"));
}

TEST(Attend, ManyKeysGoBelowEachOtherOnATerminal) {
  std::string zeros = "[0]";
  for (int i = 1; i < 30; ++i) zeros += ",[0]";
  const Folder folder;
  const std::string input = R"({"q":[[0]],"k":[)" + zeros + R"(],"v":[)" + zeros + "]}";
  const std::string file = folder.file("many.json", input);
  const Outcome shown = hodo_on_terminal({"attend", "--spec", nope, file}, {{"NO_COLOR", "1"}});
  EXPECT_TRUE(has(shown.out, "key 29"));
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);) {
    int columns = 0;
    for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
    EXPECT_LE(columns, 101) << line;  // with the carriage return
  }
}

TEST(Attend, OutputsAreNestedAsTheInput) {
  const json flat = json_of(nope, R"({"q":[[1,2]],"k":[[0,0]],"v":[[5,6,7]]})");
  EXPECT_EQ(flat["outputs"], json({{5.0, 6.0, 7.0}}));
  EXPECT_EQ(flat["weights"], json({{{1.0}}}));
  EXPECT_EQ(flat["log_sums"], json({{0.0}}));
  // Two heads of q share one of k and v.
  const json heads = json_of(nope, R"({"q":[[[1,2],[3,4]]],"k":[[[0,0]]],"v":[[[5]]]})");
  EXPECT_EQ(heads["outputs"], json::parse("[[[5.0],[5.0]]]"));
  EXPECT_EQ(heads["weights"], json::parse("[[[1.0]],[[1.0]]]"));
  const json batch =
      json_of(nope, R"({"q":[[[[1]]],[[[1]]]],"k":[[[[0]]],[[[0]]]],"v":[[[[5]]],[[[6]]]]})");
  EXPECT_EQ(batch["outputs"], json::parse("[[[[5.0]]],[[[6.0]]]]"));
  EXPECT_EQ(batch["weights"], json::parse("[[[[1.0]]],[[[1.0]]]]"));
  EXPECT_TRUE(has(
      attend(nope, R"({"q":[[[[1]]],[[[1]]]],"k":[[[[0]]],[[[0]]]],"v":[[[[5]]],[[[6]]]]})").out,
      "sequence 1, head 0"));
}

TEST(Attend, TakesEveryOption) {
  const auto weights = [](const std::string& members, const std::string& spec = nope) {
    return json_of(spec, six_and(members))["weights"][0][0];
  };
  EXPECT_EQ(weights(R"("mask":{"kind":"window","left":1})"), json({0.0, 0.0, 0.0, 0.0, .5, .5}));
  EXPECT_EQ(weights(R"("mask":{"kind":"chunked","size":4})"), json({0.0, 0.0, 0.0, 0.0, .5, .5}));
  EXPECT_EQ(weights(R"("query_positions":[1])"), json({.5, .5, 0.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(weights(R"("query_positions":[0],"mask":{"kind":"prefix","length":2})"),
            json({.5, .5, 0.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(weights(R"("key_positions":[9,9,9,9,2,3],"query_positions":[3])"),
            json({0.0, 0.0, 0.0, 0.0, .5, .5}));
  EXPECT_EQ(weights(R"("query_segments":[7],"key_segments":[7,1,1,1,0,7])"),
            json({.5, 0.0, 0.0, 0.0, 0.0, .5}));
  EXPECT_EQ(
      json_of(nope, R"({"q":[[1],[2]],"k":[[1]],"v":[[3]],"mask":"bidirectional"})")["outputs"],
      json({{3.0}, {3.0}}));
  EXPECT_EQ(weights(R"("query_positions":[0],"mask":"bidirectional")")[5].get<double>(), 1.0 / 6);
  EXPECT_NEAR(weights(R"("sinks":[0])")[0].get<double>(), 1.0 / 7, 1e-15);
  const std::string t5 = R"({"method":"t5_bias","num_heads":1,"bidirectional":false,
      "relative_attention_num_buckets":4,"relative_attention_max_distance":8})";
  EXPECT_EQ(weights(R"("buckets":[[-1e9],[0],[-1e9],[-1e9]])", t5)[4], 1.0);
  const json shaw = json_of(R"({"method":"shaw","max_distance":1,"values":true})",
                            six_and(R"("key_rows":[[1],[2],[3]],"value_rows":[[9],[9],[9]])"));
  EXPECT_NEAR(shaw["outputs"][0][0].get<double>(), 12.5, 1e-14);
  const std::string scaled = R"({"q":[[2]],"k":[[1],[0]],"v":[[1],[0]],"scale":0.5,"soft_cap":1})";
  const double score = std::exp(std::tanh(1.0));
  EXPECT_NEAR(json_of(nope, scaled)["outputs"][0][0].get<double>(), score / (score + 1), 1e-15);
}

TEST(Attend, TakesAPositionForEachAxis) {
  const std::string spec = R"({"method":"mrope","head_dim":6,"layout":"interleaved","base":1e4,
      "mrope_section":[1,1,1],"section_layout":"chunked"})";
  const std::string ones = R"({"q":[[0,0,1,0,0,0]],"k":[[0,0,1,0,0,0]],"v":[[1]],"scale":1)";
  const json near = json_of(spec, ones + "}");
  const json far = json_of(spec, ones + R"(,"query_positions":[[0],[3],[0]]})");
  EXPECT_EQ(near["log_sums"][0][0], 1.0);
  EXPECT_NEAR(far["log_sums"][0][0].get<double>(), std::cos(3 * std::pow(1e4, -1.0 / 3)), 1e-15);
}

TEST(Attend, SchedulesSeeTheContextLength) {
  const std::string spec = R"({"method":"rotary","head_dim":2,"layout":"half_split","base":10000,
      "schedule":{"rope_type":"linear","factor":2}})";
  const std::string input = R"({"q":[[1,0]],"k":[[1,0],[1,0]],"v":[[1],[1]],"scale":1})";
  const json result = json_of(spec, input, {"--context-length", "4096"});
  EXPECT_NEAR(result["log_sums"][0][0].get<double>(),
              std::log(std::exp(std::cos(0.5)) + std::exp(1.0)), 1e-15);
  EXPECT_NE(attend(spec, input, {"--context-length", "0"}).code, 0);
}

TEST(Attend, SaysWhereTheInputIsWrong) {
  const auto failure = [](const std::string& input, const std::string& spec = nope) {
    const Outcome outcome = attend(spec, input);
    EXPECT_EQ(outcome.code, 3) << input << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_TRUE(has(failure(""), "standard input"));
  EXPECT_TRUE(has(failure("{"), "byte"));
  EXPECT_TRUE(has(failure("[1]"), "got a list of 1"));
  EXPECT_TRUE(has(failure(R"({"q":[[1]],"k":[[1]]})"), "missing member \"v\""));
  EXPECT_TRUE(has(failure(six_and(R"("maks":"causal")")), "unknown member \"maks\""));
  EXPECT_TRUE(has(failure(R"({"q":[[1,2],[3]],"k":[[1]],"v":[[1]]})"), "q[1]: has 1 elements"));
  EXPECT_TRUE(has(failure(R"({"q":[[1]],"k":[["1"]],"v":[[1]]})"), "k[0][0]"));
  EXPECT_TRUE(has(failure(R"({"q":[[1]],"k":[[NaN]],"v":[[1]]})"), "byte"));
  EXPECT_TRUE(has(failure(R"({"q":[[1]],"k":[[1]],"v":[[1e999]]})"), "1e999"));
  EXPECT_TRUE(has(failure(R"({"q":"text","k":[[1]],"v":[[1]]})"), "the string \"text\""));
  EXPECT_TRUE(has(failure(R"({"q":[],"k":[[1]],"v":[[1]]})"), "q: is an empty list"));
  EXPECT_TRUE(has(failure(R"({"q":[1],"k":[[1]],"v":[[1]]})"), "q has shape [1]"));
  EXPECT_TRUE(has(failure(R"({"q":[[1]],"k":[[[1]]],"v":[[1]]})"), "k has shape [1, 1, 1]"));
  EXPECT_TRUE(
      has(failure(R"({"q":[[1]],"k":[[1,2]],"v":[[1]]})"), "head_dim of q is 1 and of k 2"));
  EXPECT_TRUE(has(failure(R"({"q":[[1]],"k":[[1]],"v":[[1],[2]]})"), "v is [2, 1, 1]"));
  EXPECT_TRUE(has(failure(R"({"q":[[1],[2]],"k":[[1]],"v":[[1]]})"), "query_positions"));
  EXPECT_TRUE(has(failure(R"({"q":[[[[1]]],[[[1]]]],"k":[[[[1]]]],"v":[[[[1]]]]})"), "batches"));
  EXPECT_TRUE(has(failure(six_and(R"("mask":"casual")")), "the string \"casual\""));
  EXPECT_TRUE(has(failure(six_and(R"("mask":{"kind":"window"})")), "\"left\""));
  EXPECT_TRUE(has(failure(six_and(R"("mask":{"kind":"window","left":-1})")), "left is -1"));
  EXPECT_TRUE(has(failure(six_and(R"("key_positions":[1,2])")), "key_positions has 2 numbers"));
  EXPECT_TRUE(has(failure(six_and(R"("query_positions":[0.5])")), "query_positions[0]"));
  EXPECT_TRUE(has(failure(six_and(R"("query_positions":[2147483648])")), "2147483648"));
  EXPECT_TRUE(has(failure(six_and(R"("query_positions":[[1],[2]])")), "axes"));
  EXPECT_TRUE(has(failure(six_and(R"("query_segments":[1])")), "expected both"));
  EXPECT_TRUE(has(failure(six_and(R"("scale":"big")")), "scale: expected a number"));
  EXPECT_TRUE(has(failure(six_and(R"("soft_cap":-1)")), "soft_cap is -1"));
  EXPECT_TRUE(has(failure(six_and(R"("sinks":[1,2])")), "sinks has 2 values"));
  EXPECT_TRUE(has(failure(six_and(R"("buckets":[[1]])")), "buckets is [1, 1]"));
  EXPECT_TRUE(has(failure(six_and(R"("key_rows":[1])")), "key_rows has shape [1]"));
  EXPECT_TRUE(has(failure(six, R"({"method":"shaw","max_distance":1})"), "key_rows is [0, 0]"));
  EXPECT_TRUE(has(failure(six, R"({"method":"alibi","num_heads":2})"), "1 heads"));
  EXPECT_TRUE(has(failure(six, R"({"method":"sinusoidal","dim":1,"layout":"halves"})"),
                  "sinusoidal adds rows"));
  std::string zeros = "[0]";
  for (int i = 1; i < 3000; ++i) zeros += ",[0]";
  EXPECT_TRUE(has(failure(R"({"q":[)" + zeros + R"(],"k":[)" + zeros + R"(],"v":[)" + zeros + "]}"),
                  "3000 queries, 3000 keys"));
}

TEST(Attend, MissingFilesAreInputOutputErrors) {
  const Outcome outcome = attend(nope, "", {"no_such_file.json"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(has(outcome.err, "no_such_file.json"));
}

}  // namespace
}  // namespace hodometer::cli::testing
