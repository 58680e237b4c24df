#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(NestedConfig, PartsAreNamedAndPathsKept) {
  const auto model = read(R"({"model_type":"llava","text_config":{"model_type":"mistral",
      "hidden_size":4096,"num_attention_heads":32,"num_hidden_layers":2,"rope_theta":1000000.0},
      "vision_config":{"model_type":"clip_vision_model","hidden_size":1024,"image_size":336,
      "patch_size":14}})");
  EXPECT_EQ(model.num_layers, 2);
  EXPECT_EQ(std::get<Learned>(use_named(model, "vision").spec.method).dim, 1024);
  for (const Setting& value : attention(model).settings) {
    if (value.name == "base") {
      EXPECT_EQ(value.source, "text_config.rope_theta");
    }
  }
}

TEST(NestedConfig, SectionWithoutATypeTakesTheModelsOwn) {
  const auto model = read(R"({"model_type":"qwen3_vl","text_config":{"hidden_size":4096,
      "num_attention_heads":32,"rope_theta":5000000},"vision_config":{"model_type":"qwen3_vl",
      "hidden_size":1152,"num_heads":16}})");
  EXPECT_EQ(method_name(attention(model).spec), "mrope");
  EXPECT_EQ(method_name(use_named(model, "vision").spec), "axial_rotary");
}

TEST(NestedConfig, UnknownTextIsRefusedAndUnknownTowerIsNamed) {
  const std::string rest = R"("hidden_size":64,"num_attention_heads":2})";
  EXPECT_SAYS(error_of(R"({"model_type":"llava","text_config":{"model_type":"odd",)" + rest + "}"),
              "text_config.model_type \"odd\" is not known");
  const auto model = read(R"({"model_type":"llava","text_config":{"model_type":"llama",)" + rest +
                          R"(,"vision_config":{"model_type":"odd","rope_theta":5}})");
  EXPECT_TRUE(warns(model, "vision_config: its positions are not explained"));
  EXPECT_EQ(model.warnings.size(), 1u);
}

TEST(NestedConfig, ThinkerHoldsTheParts) {
  const auto model = read(R"({"model_type":"qwen2_5_omni","thinker_config":{
      "model_type":"qwen2_5_omni_thinker","text_config":{"model_type":"qwen2_5_omni_text",
      "hidden_size":3584,"num_attention_heads":28,
      "rope_scaling":{"type":"default","mrope_section":[16,24,24]}}},
      "talker_config":{"rope_theta":1}})");
  EXPECT_EQ(method_name(attention(model).spec), "mrope");
  EXPECT_TRUE(warns(model, "talker_config"));
}

}  // namespace
}  // namespace hodometer
