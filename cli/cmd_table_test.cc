#include <cmath>
#include <string>
#include <vector>

#include "cli/run_hodo_test.h"

namespace hodometer::cli::testing {
namespace {

using nlohmann::json;

json use_of(const std::string& spec, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"table", "--json", "--spec", spec};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = hodo(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json document = outcome.json();
  EXPECT_EQ(document.value("schema", 0), 1);
  return document["uses"].at(0);
}

std::string rotary(int head_dim, const std::string& base, const std::string& schedule) {
  return R"({"method":"rotary","head_dim":)" + std::to_string(head_dim) +
         R"(,"layout":"half_split","base":)" + base + R"(,"schedule":)" + schedule + "}";
}

void expect_frequency(const json& use, size_t pair, double want) {
  EXPECT_NEAR(use["inv_freq"].at(pair).get<double>(), want, std::fabs(want) * 2e-10) << pair;
}

TEST(Table, GivesThePlainFrequencies) {
  const json use = use_of(rotary(128, "10000", R"({"rope_type":"default"})"),
                          {"--positions", "0,1,131071,2147483647"});
  expect_frequency(use, 1, 8.6596432336e-01);
  expect_frequency(use, 63, 1.1547819847e-04);
  EXPECT_DOUBLE_EQ(use["wavelength"][0].get<double>(), 2 * std::acos(-1.0));
  EXPECT_EQ(use["rotary_dim"], 128);
  EXPECT_EQ(use["attention_factor"], 1.0);
  EXPECT_EQ(use["softmax_factor"], 1.0);
  EXPECT_EQ(use["lanes"][3], json({3, 67}));
  EXPECT_EQ(use["cos"].size(), 4U);
  // cos and sin of 2147483647 radians, computed with 60 digits.
  EXPECT_NEAR(use["cos"][3][0].get<double>(), -0.68883669187794384, 1e-15);
  EXPECT_NEAR(use["sin"][3][0].get<double>(), -0.72491655514455639, 1e-15);
}

TEST(Table, ScalesAsYarnDoes) {
  const json use = use_of(rotary(128, "1e6", R"({"rope_type":"yarn","factor":4.0,
      "original_max_position_embeddings":32768})"),
                          {"--positions", "0"});
  EXPECT_NEAR(use["attention_factor"].get<double>(), 1.138629436, 1e-9);
  EXPECT_NEAR(use["cos"][0][0].get<double>(), 1.138629436, 1e-9);  // the factor is in cos and sin
  expect_frequency(use, 24, 5.3753214908e-03);
  expect_frequency(use, 63, 3.1023444019e-07);
  // An explicit factor of 1 is not the same as none.
  EXPECT_EQ(use_of(rotary(128, "1e6", R"({"rope_type":"yarn","factor":4.0,"attention_factor":1.0,
      "original_max_position_embeddings":32768})"))["attention_factor"],
            1.0);
}

TEST(Table, KeepsTheTwoFactorsOfLatentAttentionApart) {
  const std::string spec = R"({"method":"rotary","head_dim":64,"layout":"interleaved","base":10000,
      "schedule":{"rope_type":"yarn","factor":40,"original_max_position_embeddings":4096,
                  "mscale":1.0,"mscale_all_dim":1.0},
      "logit_scale":[{"rule":"yarn_softmax","factor":40,"mscale_all_dim":1.0}]})";
  const json use = use_of(spec);
  EXPECT_NEAR(use["attention_factor"].get<double>(), 1.0, 1e-12);
  EXPECT_NEAR(use["softmax_factor"].get<double>(), 1.873854207, 1e-9);
  EXPECT_EQ(use["lanes"][1], json({2, 3}));
}

TEST(Table, DynamicNtkDependsOnTheLengthAlone) {
  const std::string spec = rotary(128, "10000", R"({"rope_type":"dynamic","factor":2,
      "original_max_position_embeddings":4096})");
  const json longer = use_of(spec, {"--context-length", "16384"});
  EXPECT_EQ(longer["context_length"], 16384);
  expect_frequency(longer, 63, 1.6496885496e-05);
  // The largest position decides when nothing else does.
  EXPECT_EQ(use_of(spec, {"--positions", "3,16383"})["inv_freq"], longer["inv_freq"]);
  expect_frequency(use_of(spec, {"--positions", "99"}), 63, 1.1547819847e-04);
}

TEST(Table, LongRopeSwitchesRightAfterTheTrainedLength) {
  const std::string spec = rotary(4, "10000", R"({"rope_type":"longrope","short_factor":[1,1],
      "long_factor":[2,8],"original_max_position_embeddings":4096,
      "max_position_embeddings":131072})");
  expect_frequency(use_of(spec, {"--context-length", "4096"}), 1, 0.01);
  expect_frequency(use_of(spec, {"--context-length", "4097"}), 1, 0.01 / 8);
  EXPECT_NEAR(use_of(spec)["attention_factor"].get<double>(), 1.1902380714, 1e-10);
}

TEST(Table, Llama3StepsWhereTheFactorsAreEqual) {
  const json use = use_of(rotary(128, "500000", R"({"rope_type":"llama3","factor":16,
      "low_freq_factor":1,"high_freq_factor":1,"original_max_position_embeddings":8192})"));
  expect_frequency(use, 34, 9.3847387036e-04);
  expect_frequency(use, 35, 4.7781061770e-05);
}

TEST(Table, PartialRotaryHasFewerPairs) {
  const json use = use_of(
      R"({"method":"rotary","head_dim":8,"rotary_dim":4,"layout":"half_split","base":10000})");
  EXPECT_EQ(use["inv_freq"], json({1.0, 0.01}));
  EXPECT_EQ(use["lanes"], json({{0, 2}, {1, 3}}));
}

TEST(Table, APairThatNeverTurnsHasNoWavelength) {
  const json use =
      use_of(rotary(512, "1e6", R"({"rope_type":"proportional","partial_rotary_factor":0.25})"));
  EXPECT_EQ(use["inv_freq"][64], 0.0);
  EXPECT_TRUE(use["wavelength"][64].is_null());
  EXPECT_FALSE(use["wavelength"][63].is_null());
}

TEST(Table, AlibiSlopesFollowThePublishedCode) {
  const json use = use_of(R"({"method":"alibi","num_heads":12})");
  EXPECT_EQ(use["slopes"].size(), 12U);
  EXPECT_EQ(use["slopes"][0], 0.5);
  EXPECT_EQ(use["slopes"][7], 0.00390625);
  EXPECT_NEAR(use["slopes"][8].get<double>(), 0.70710678118654757, 1e-15);
  EXPECT_NEAR(use_of(R"({"method":"alibi","num_heads":40})")["slopes"][32].get<double>(), 0.917004,
              1e-6);
  EXPECT_NEAR(
      use_of(R"({"method":"alibi","num_heads":12,"slope_series":"one_series"})")["slopes"][0]
          .get<double>(),
      0.629961, 1e-6);
}

TEST(Table, T5BucketsAreTruncatedNotRounded) {
  // Keys right of the query: distances are negative.
  const json both = use_of(R"({"method":"t5_bias","num_heads":8,"bidirectional":true})",
                           {"--positions=-7,-8,-11,-12,-16,-23,-32,-64,-91"});
  EXPECT_EQ(both["buckets"], json({23, 24, 24, 25, 26, 27, 28, 30, 31}));
  const json causal = use_of(R"({"method":"t5_bias","num_heads":8,"bidirectional":false})",
                             {"--positions", "16,18,19,21"});
  EXPECT_EQ(causal["buckets"], json({16, 16, 17, 18}));
}

TEST(Table, SinusoidalRowsAreExact) {
  const json use = use_of(R"({"method":"sinusoidal","dim":4,"layout":"interleaved"})",
                          {"--positions", "1,1000000"});
  const json& row = use["rows"][1];
  EXPECT_NEAR(row[0].get<double>(), std::sin(1e6), 1e-15);
  EXPECT_NEAR(row[1].get<double>(), std::cos(1e6), 1e-15);
  EXPECT_NEAR(row[2].get<double>(), std::sin(1e4), 1e-12);
}

TEST(Table, LearnedRowsEndWhereTheTableDoes) {
  const std::string spec =
      R"({"method":"learned","max_position_embeddings":512,"dim":8,"offset":2})";
  EXPECT_EQ(use_of(spec, {"--positions", "0,511"})["row_indices"], json({2, 513}));
  const Outcome beyond = hodo({"table", "--spec", spec, "--positions", "512"});
  EXPECT_EQ(beyond.code, 3);
  EXPECT_TRUE(has(beyond.err, "position 512"));
  EXPECT_TRUE(has(beyond.err, "511"));
}

TEST(Table, Float32AnglesAreWhatTheyAreElsewhere) {
  const std::string spec = rotary(8, "10000", R"({"rope_type":"default"})");
  const json use = use_of(spec, {"--positions", "1000003", "--angles", "float32"});
  const float inv_freq = 0.1F;
  EXPECT_EQ(use["inv_freq"][1], 0.1);  // the digits of the float32, not of its double
  EXPECT_NEAR(use["cos"][0][1].get<double>(), std::cos(double{1000003.0F * inv_freq}), 1e-7);
  EXPECT_GT(std::fabs(use["cos"][0][1].get<double>() - std::cos(100000.3)), 1e-3);
}

TEST(Table, TextHasOneNumberForEveryAxis) {
  const std::string spec = R"({"method":"mrope","head_dim":8,"layout":"half_split","base":10000,
      "mrope_section":[2,1,1],"section_layout":"chunked"})";
  EXPECT_EQ(use_of(spec, {"--positions", "7"})["cos"],
            use_of(rotary(8, "10000", R"({"rope_type":"default"})"), {"--positions", "7"})["cos"]);
  const json apart = use_of(spec, {"--positions", "7;0;0"});
  EXPECT_EQ(apart["cos"][0][2], 1.0);
  EXPECT_EQ(apart["axis"], json({0, 0, 1, 2}));
}

TEST(Table, TemperatureIsByPosition) {
  const json use = use_of(R"({"method":"nope","logit_scale":[{"rule":"temperature","beta":0.1,
      "floor_scale":8192,"offset":1}]})",
                          {"--positions", "8190,8191,1048575"});
  EXPECT_EQ(use["logit_scale"][0], 1.0);
  EXPECT_NEAR(use["logit_scale"][1].get<double>(), 1.0693147181, 1e-10);
  EXPECT_NEAR(use["logit_scale"][2].get<double>(), 1.4859812404, 1e-10);
}

// Fault: a number of a file reported as a wrong command line.
TEST(Table, TakesLengthsBeyondTheLastPosition) {
  const std::string config = R"({"model_type":"llama","hidden_size":64,"num_attention_heads":4,
      "max_position_embeddings":4294967296,"rope_scaling":{"type":"dynamic","factor":2}})";
  const Outcome table = hodo({"table", "--json", "-"}, config);
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(table.json()["uses"].at(0)["context_length"], 2147483648);
  const Outcome inspect = hodo({"inspect", "-"}, config);
  EXPECT_EQ(inspect.code, 0) << inspect.err;
  EXPECT_TRUE(has(inspect.out, "beyond the last position"));
}

// Fault: the numbers of a key that was misspelt, without a word.
TEST(Table, WarnsOfKeysThatAreNotRead) {
  const Outcome outcome =
      hodo({"table", "--json", "-"}, R"({"model_type":"llama","head_dim":8,"rope_tetha":500000})");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.json()["uses"].size(), 1U);
  EXPECT_TRUE(has(outcome.err, "warning: rope_tetha"));
}

TEST(Table, IsTheSameEveryTime) {
  const std::vector<std::string> arguments = {
      "table",   "--json", "--positions",
      "0-300:7", "--spec", rotary(64, "10000", R"({"rope_type":"linear","factor":4})")};
  const Outcome first = hodo(arguments);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.json()["uses"].at(0)["cos"].size(), 43U);
  EXPECT_EQ(hodo(arguments).out, first.out);
}

TEST(Table, RefusesMoreNumbersThanAnyoneReads) {
  const Outcome outcome = hodo({"table", "--positions", "0-999999", "--spec",
                                rotary(128, "10000", R"({"rope_type":"default"})")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(has(outcome.err, "16777216"));
}

}  // namespace
}  // namespace hodometer::cli::testing
