#include <string>

#include "cli/run_hodo_test.h"

namespace hodometer::cli::testing {
namespace {

using nlohmann::json;

constexpr const char* llama = R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,
  "num_key_value_heads":8,"num_hidden_layers":32,"head_dim":128,"rope_theta":500000.0,
  "max_position_embeddings":131072,"rope_scaling":{"rope_type":"llama3","factor":8.0,
  "low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192}})";
constexpr const char* bert = R"({"model_type":"bert","hidden_size":768,"num_attention_heads":12,
  "num_hidden_layers":12,"max_position_embeddings":512,"position_embedding_type":"absolute"})";

TEST(Inspect, ExplainsOneModel) {
  const Folder folder;
  folder.file("my-llama/config.json", llama);
  const Outcome outcome = hodo({"inspect", folder.path("my-llama")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "llama, 32 layers"));
  EXPECT_TRUE(has(outcome.out, "0-31 (32)"));
  EXPECT_TRUE(has(outcome.out, "half_split: lanes (0,64) (1,65)"));
  EXPECT_TRUE(has(outcome.out, "0-127 of 128 lanes (64 pairs)"));
  EXPECT_TRUE(has(outcome.out, "6.283 to 20,470,000 positions"));
  EXPECT_TRUE(has(outcome.out, "131,072"));
  EXPECT_TRUE(has(outcome.out, "rope_scaling.factor"));
}

TEST(Inspect, GivesTheSameAsData) {
  const Folder folder;
  const Outcome outcome = hodo({"inspect", "--json", folder.file("llama.json", llama)});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json document = outcome.json();
  EXPECT_EQ(document["schema"], 1);
  const json& model = document["models"].at(0);
  EXPECT_EQ(model["model_type"], "llama");
  const json& use = model["uses"].at(0);
  EXPECT_EQ(use["layers"].size(), 32U);
  EXPECT_EQ(use["schedule"], "llama3");
  EXPECT_EQ(use["pairs"]["layout"], "half_split");
  EXPECT_NE(use["pairs"]["layout_reason"], "");
  EXPECT_EQ(use["spec"]["base"], 500000.0);
  EXPECT_EQ(use["longest_input"], 131072);
  bool found = false;
  for (const json& one : use["parameters"]) {
    if (one["source"] != "rope_theta") continue;
    found = true;
    EXPECT_EQ(one["origin"], "file");
  }
  EXPECT_TRUE(found);
}

TEST(Inspect, ComparesSeveralAndGoesOnAfterAWrongOne) {
  const Folder folder;
  folder.file("a/config.json", llama);
  const Outcome outcome =
      hodo({"inspect", folder.path("a"), folder.file("bert.json", bert),
            folder.file("cut.json", std::string(llama).substr(0, 100)), folder.path("none.json")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(has(outcome.out, "\na\t"));
  EXPECT_TRUE(has(outcome.out, "\nbert\t"));
  EXPECT_TRUE(has(outcome.out, "\ncut\terror\t"));
  EXPECT_TRUE(has(outcome.out, "\nnone\terror\t"));
  EXPECT_TRUE(has(outcome.err, "cut.json"));
  EXPECT_TRUE(has(outcome.err, "No such file"));
  const Outcome only_missing = hodo({"inspect", "--json", folder.path("a"), folder.path("b")});
  EXPECT_EQ(only_missing.code, 4);
  EXPECT_EQ(only_missing.json()["models"][1]["error"]["kind"], "io");
}

TEST(Inspect, FitsTheTerminal) {
  const Folder folder;
  folder.file("a-model-with-a-rather-long-name/config.json", llama);
  const Outcome outcome = hodo_on_terminal(
      {"inspect", folder.path("a-model-with-a-rather-long-name"), folder.file("bert.json", bert)},
      {{"NO_COLOR", "1"}});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    size_t width = 0;
    for (const char c : line)
      width += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U && c != '\r';
    EXPECT_LE(width, 100U) << line;
  }
}

// Fault: lanes that are no pair of the head.
TEST(Inspect, NamesOnlyPairsThatThereAre) {
  const auto layout = [](const std::string& config) { return hodo({"inspect", "-"}, config).out; };
  EXPECT_TRUE(has(layout(R"({"model_type":"gemma4_vision","head_dim":64})"),
                  "lanes (0,16) (1,17) ... turn together"));
  EXPECT_TRUE(has(layout(R"({"model_type":"llama","head_dim":2})"), "lanes (0,1) turn together"));
  EXPECT_TRUE(
      has(layout(R"({"model_type":"llama","head_dim":4})"), "lanes (0,2) (1,3) turn together"));
}

TEST(Inspect, ReadsStandardInput) {
  EXPECT_EQ(hodo({"inspect", "-"}, bert).code, 0);
  const Outcome nothing = hodo({"inspect", "-"}, "");
  EXPECT_EQ(nothing.code, 3);
  EXPECT_TRUE(has(nothing.err, "standard input: "));
}

TEST(Inspect, RefusesWhatItDoesNotUnderstand) {
  const Outcome outcome = hodo({"inspect", "-"}, R"({"model_type":"no_such_model"})");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(has(outcome.err, "no_such_model"));
}

}  // namespace
}  // namespace hodometer::cli::testing
