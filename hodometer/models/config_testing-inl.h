#pragma once

// Private: what the tests of this room share. Not installed.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "hodometer/models/from_hf_config.h"

namespace hodometer::models_testing {

inline ModelPositions read(std::string_view json) {
  auto model = from_hf_config(json);
  EXPECT_TRUE(model.ok()) << model.error().message << "\n" << json;
  return model.ok() ? *model : ModelPositions{};
}

inline std::string error_of(std::string_view json) {
  const auto model = from_hf_config(json);
  EXPECT_FALSE(model.ok()) << json;
  return model.ok() ? "" : model.error().message;
}

inline const PositionUse& use_named(const ModelPositions& model, std::string_view name) {
  static const PositionUse none{};
  for (const PositionUse& use : model.uses) {
    if (use.name == name) return use;
  }
  ADD_FAILURE() << "no use " << name;
  return none;
}

inline RotatePairs rotation(const PositionUse& use, int64_t length = 1) {
  const auto list = actions(use.spec, length);
  EXPECT_TRUE(list.ok());
  for (const Action& action : *list) {
    if (const auto* pairs = std::get_if<RotatePairs>(&action)) return *pairs;
  }
  ADD_FAILURE() << use.name << " does not rotate";
  return {};
}

inline double inv_freq(const PositionUse& use, size_t pair) {
  const RotatePairs pairs = rotation(use);
  return pair < pairs.inv_freq.size() ? pairs.inv_freq[pair].to_double() : -1;
}

/// A Llama with the given members added to its config.
inline std::string llama(std::string_view members) {
  return fmt::format(R"({{"model_type":"llama","hidden_size":4096,"num_attention_heads":32,)"
                     R"("num_hidden_layers":4,"max_position_embeddings":131072{}{}}})",
                     members.empty() ? "" : ",", members);
}

inline const PositionUse& attention(const ModelPositions& model) {
  return use_named(model, "attention");
}

inline bool warns(const ModelPositions& model, std::string_view part) {
  for (const std::string& warning : model.warnings) {
    if (warning.find(part) != std::string::npos) return true;
  }
  return false;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace hodometer::models_testing
