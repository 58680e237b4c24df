// No change of one key of a good config may change the numbers without a trace.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "hodometer/base/json-inl.h"
#include "hodometer/models/from_hf_config.h"

namespace hodometer {
namespace {

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

}  // namespace
}  // namespace hodometer
