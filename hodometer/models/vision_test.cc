#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(VisionTower, WidthOfQwen2IsEmbedDim) {
  const auto model = read(R"({"model_type":"qwen2_vl","hidden_size":3584,"num_attention_heads":28,
      "rope_scaling":{"type":"mrope","mrope_section":[16,24,24]},
      "vision_config":{"depth":4,"embed_dim":1280,"hidden_size":3584,"num_heads":16}})");
  const auto& axial = std::get<AxialRotary>(use_named(model, "vision").spec.method);
  EXPECT_EQ(axial.head_dim, 80);
  EXPECT_EQ(axial.base, 10000);
  EXPECT_EQ(axial.axis_layout, AxisLayout::blocks);
  EXPECT_EQ(use_named(model, "vision").layers.size(), 4u);
}

TEST(VisionTower, TablesCountPatchesAndTheClassToken) {
  const auto rows = [](std::string_view json) {
    return std::get<Learned>(attention(read(json)).spec.method).max_position_embeddings;
  };
  EXPECT_EQ(rows(R"({"model_type":"clip_vision_model","hidden_size":1024,"image_size":336,
      "patch_size":14})"),
            577);
  EXPECT_EQ(rows(R"({"model_type":"siglip_vision_model","hidden_size":1152,"image_size":896,
      "patch_size":14})"),
            4096);
  EXPECT_EQ(rows(R"({"model_type":"internvl_vision","hidden_size":1024,"image_size":[448,448],
      "patch_size":[14,14]})"),
            1025);
  EXPECT_SAYS(error_of(R"({"model_type":"vit","hidden_size":8,"image_size":14,"patch_size":0})"),
              "patch_size");
}

TEST(VisionTower, BaseMayStandInABlock) {
  const auto model = read(R"({"model_type":"pixtral","hidden_size":1024,"num_attention_heads":16,
      "rope_parameters":{"rope_theta":5000.0,"rope_type":"default"}})");
  EXPECT_EQ(std::get<AxialRotary>(attention(model).spec.method).base, 5000);
  EXPECT_SAYS(error_of(R"({"model_type":"pixtral","head_dim":64,"rope_theta":1e4,
      "rope_parameters":{"rope_theta":5000.0}})"),
              "must agree");
}

}  // namespace
}  // namespace hodometer
