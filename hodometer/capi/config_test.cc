#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "hodometer/capi/hodometer_c.h"

namespace {

TEST(CConfig, GivesSpecsThatMakePlans) {
  const std::string config =
      R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8,
          "num_hidden_layers":2,"max_position_embeddings":8192,"rope_theta":500000.0})";
  char* text = nullptr;
  ASSERT_EQ(hodo_config_read(config.data(), config.size(), &text), HODO_OK) << hodo_last_error();
  const nlohmann::json report = nlohmann::json::parse(text);
  hodo_string_free(text);
  EXPECT_EQ(report["model_type"], "llama");
  ASSERT_EQ(report["uses"].size(), 1u);
  hodo_plan* plan = nullptr;
  ASSERT_EQ(
      hodo_plan_create(report["uses"][0]["spec"].dump().c_str(), 8192, HODO_ANGLES_EXACT, &plan),
      HODO_OK)
      << hodo_last_error() << report;
  EXPECT_EQ(hodo_plan_head_dim(plan), 128);
  hodo_plan_free(plan);
}

TEST(CConfig, RefusesWhatIsNoConfig) {
  char* text = nullptr;
  EXPECT_EQ(hodo_config_read("{", 1, &text), HODO_BAD_INPUT);
  EXPECT_EQ(hodo_config_read(nullptr, 1, &text), HODO_USAGE);
  EXPECT_NE(hodo_config_read(nullptr, 0, &text), HODO_OK);
  EXPECT_NE(hodo_config_read("{}", 2, nullptr), HODO_OK);
  EXPECT_EQ(text, nullptr);
}

}  // namespace
