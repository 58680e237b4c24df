#include "hodometer/models/from_hf_config.h"

#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "hodometer/base/json-inl.h"
#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Pairing, ComesFromTheModelType) {
  const std::string rest = R"(,"hidden_size":4096,"num_attention_heads":32})";
  const auto layout = [&](std::string_view type) {
    return rotation(attention(read(fmt::format(R"({{"model_type":"{}")", type) + rest))).layout;
  };
  for (const std::string_view type : {"llama", "qwen2", "mistral", "phi", "gemma", "qwen3"}) {
    EXPECT_EQ(layout(type), PairLayout::half_split) << type;
  }
  for (const std::string_view type : {"cohere", "gptj", "chatglm", "glm4", "ernie4_5"}) {
    EXPECT_EQ(layout(type), PairLayout::interleaved) << type;
  }
}

TEST(Pairing, UnknownModelTypeIsAnErrorThatNamesItsNeighbours) {
  const std::string message =
      error_of(R"({"model_type":"lama","hidden_size":64,"num_attention_heads":2})");
  EXPECT_SAYS(message, "\"lama\"");
  EXPECT_SAYS(message, "llama");
  EXPECT_SAYS(error_of(R"({"hidden_size":64,"num_attention_heads":2})"), "model_type is missing");
  const auto by_class = read(R"({"architectures":["Qwen2ForCausalLM"],"head_dim":64})");
  EXPECT_EQ(by_class.model_type, "qwen2");
  EXPECT_TRUE(warns(by_class, "Qwen2ForCausalLM"));
}

TEST(Refusals, SayWhy) {
  EXPECT_SAYS(error_of(R"({"model_type":"deberta-v2"})"), "content-to-position");
  EXPECT_SAYS(error_of(R"({"model_type":"llama"})"), "hidden_size is missing");
  EXPECT_SAYS(error_of("[]"), "expected an object");
  EXPECT_SAYS(error_of(R"({"model_type":"llama","num_hidden_layers":9000000000,"head_dim":8})"),
              "num_hidden_layers");
  EXPECT_SAYS(error_of(R"({"model_type":"llama","head_dim":8,"head_dim":16})"), "twice");
}

TEST(Leftovers, KeysAboutPositionsThatNobodyReadAreNamed) {
  EXPECT_TRUE(
      warns(read(llama(R"("alibi_slope_scale":2)")), "alibi_slope_scale is not understood"));
  EXPECT_SAYS(error_of(llama(R"("rotary":{"base":10000,"type":"dynamic"})")), "rotary is a block");
}

// No change of one key of a good config may change the numbers without a trace.

std::vector<std::pair<std::string, Json>> examples() {
  std::vector<std::pair<std::string, Json>> list;
  const auto root = std::filesystem::path(HODO_GOLDEN_DIR) / "../../examples/models";
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    std::ifstream file(entry.path() / "config.json");
    std::stringstream text;
    text << file.rdbuf();
    list.emplace_back(entry.path().filename().string(), *parse_json(text.str(), "example"));
  }
  std::sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.first < b.first; });
  return list;
}

/// The numbers, and everything said about them.
struct Outcome {
  std::string numbers;
  std::string told;
};

Outcome outcome(const ModelPositions& model) {
  Outcome result;
  for (const PositionUse& use : model.uses) {
    result.numbers += spec_text(use.spec) + fmt::format("{}", fmt::join(use.layers, " ")) + "\n";
    for (const Setting& value : use.settings) {
      result.told += value.name + value.value + value.source + "\n";
    }
  }
  for (const std::string& warning : model.warnings) result.told += warning + "\n";
  return result;
}

void leaves(const Json& object, const Json::json_pointer& at,
            std::vector<Json::json_pointer>& found) {
  for (const auto& [key, value] : object.items()) {
    found.push_back(at / key);
    if (value.is_object()) leaves(value, at / key, found);
  }
}

void expect_no_silent_change(const std::string& what, const Outcome& before, const Json& changed) {
  const auto model = from_hf_config(changed.dump());
  if (!model.ok()) {
    EXPECT_GT(model.error().message.size(), 10u) << what;
    return;
  }
  const Outcome after = outcome(*model);
  if (after.numbers != before.numbers) {
    EXPECT_NE(after.told, before.told) << what << ": the numbers changed and nothing tells";
  }
}

TEST(Examples, AreReadWithoutWarnings) {
  EXPECT_GE(examples().size(), 6u);
  for (const auto& [name, config] : examples()) {
    const auto model = from_hf_config(config.dump());
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    EXPECT_TRUE(model->warnings.empty()) << name << ": " << model->warnings.front();
    EXPECT_FALSE(model->uses.empty()) << name;
  }
}

TEST(Mutations, OfOneKeyAreNeverSilent) {
  const std::vector<Json> replacements = {nullptr,        "8", -1,  0,    true, Json::array(),
                                          Json::object(), 1e6, 0.5, 1e300};
  for (const auto& [name, config] : examples()) {
    const auto good = from_hf_config(config.dump());
    ASSERT_TRUE(good.ok()) << name;
    const Outcome before = outcome(*good);
    std::vector<Json::json_pointer> keys;
    leaves(config, Json::json_pointer(), keys);
    for (const auto& key : keys) {
      Json dropped = config;
      dropped.at(key.parent_pointer()).erase(key.back());
      expect_no_silent_change(name + key.to_string() + " dropped", before, dropped);
      for (const Json& value : replacements) {
        Json replaced = config;
        replaced.at(key) = value;
        expect_no_silent_change(name + key.to_string() + " = " + value.dump(), before, replaced);
      }
    }
  }
}

TEST(Mutations, OfManyKeysNeverCrash) {
  const auto configs = examples();
  rc::check([&] {
    Json config = configs[*rc::gen::inRange<size_t>(0, configs.size())].second;
    const int changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes; ++i) {
      std::vector<Json::json_pointer> keys;
      leaves(config, Json::json_pointer(), keys);
      if (keys.empty()) break;
      const auto& key = keys[*rc::gen::inRange<size_t>(0, keys.size())];
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          config.at(key) = *rc::gen::arbitrary<int64_t>();
          break;
        case 1:
          config.at(key) = *rc::gen::inRange(-3, 70);
          break;
        case 2:
          config.at(key) = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3));
          break;
        default:
          config.at(key.parent_pointer()).erase(key.back());
      }
    }
    const auto model = from_hf_config(config.dump());
    if (model.ok()) {
      for (const PositionUse& use : model->uses) RC_ASSERT(actions(use.spec, 4096).ok());
    } else {
      RC_ASSERT(!model.error().message.empty());
    }
  });
}

// One family turns adjacent lanes where another of the same shape turns halves, and no key says so:
// the text stays fluent.
TEST(Pairing, IsTakenFromNoOtherFamilyOfTheSameShape) {
  const std::string rest = R"(,"head_dim":128,"max_position_embeddings":8192})";
  const auto cohere = read(R"({"model_type":"cohere")" + rest);
  const auto llama_like = read(R"({"model_type":"llama")" + rest);
  EXPECT_EQ(rotation(attention(cohere)).layout, PairLayout::interleaved);
  EXPECT_EQ(rotation(attention(llama_like)).layout, PairLayout::half_split);
  EXPECT_FALSE(attention(cohere).layout_reason.empty());
}

// A native parameter file that names no model: its switch for the magnitude must not be lost.
TEST(Refusals, ParametersOfAnotherFormatAreNotHalfRead) {
  EXPECT_SAYS(error_of(R"({"dim":5120,"head_dim":128,"rope_theta":1000000.0,
      "yarn":{"factor":36,"alpha":1,"beta":32,"original_max_position_embeddings":8192,
      "apply_scale":false},
      "llama_4_scaling":{"beta":0.1,"original_max_position_embeddings":8192}})"),
              "model_type is missing");
}

}  // namespace
}  // namespace hodometer
