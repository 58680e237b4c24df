#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Layers, Gemma3ScalesItsGlobalLayersOnly) {
  const auto model = read(R"({"model_type":"gemma3_text","head_dim":128,"num_hidden_layers":12,
      "rope_theta":1000000.0,"rope_local_base_freq":10000.0,"sliding_window":1024,
      "sliding_window_pattern":6,"rope_scaling":{"rope_type":"linear","factor":8.0}})");
  const PositionUse& global = use_named(model, "full_attention");
  const PositionUse& local = use_named(model, "sliding_attention");
  EXPECT_EQ(global.layers, (std::vector<int64_t>{5, 11}));
  EXPECT_EQ(local.layers.size(), 10u);
  EXPECT_EQ(local.mask, MaskKind::sliding_window);
  EXPECT_EQ(local.mask_size, 1024);
  EXPECT_EQ(2915 * inv_freq(global, 0), 364.375);
  EXPECT_EQ(2915 * inv_freq(local, 0), 2915.0);
  EXPECT_NEAR(std::pow(inv_freq(local, 32), -2), 10000, 1e-8);
}

TEST(Layers, BaseOfTheFileBeatsTheFamily) {
  const auto model = read(R"({"model_type":"gemma3_text","head_dim":128,"num_hidden_layers":6,
      "rope_theta":10000})");
  EXPECT_EQ(std::get<Rotary>(use_named(model, "full_attention").spec.method).base, 10000);
}

TEST(Layers, OneInNoRopeLayersMeansThatTheLayerRotates) {
  const std::string head = R"({"model_type":"llama4_text","num_hidden_layers":8,
      "attention_chunk_size":8192)";
  for (const std::string_view marks : {"", R"(,"no_rope_layers":[])", R"(,"no_rope_layers":null)",
                                       R"(,"no_rope_layers":[1,1,1,0,1,1,1,0])"}) {
    const auto model = read(head + std::string(marks) + "}");
    EXPECT_EQ(use_named(model, "full_attention").layers, (std::vector<int64_t>{3, 7}));
    EXPECT_TRUE(std::holds_alternative<Nope>(use_named(model, "full_attention").spec.method));
    EXPECT_TRUE(std::holds_alternative<Rotary>(use_named(model, "chunked_attention").spec.method));
  }
  EXPECT_SAYS(error_of(head + R"(,"no_rope_layers":[1,1,1,0]})"), "expected one per layer, 8");
}

TEST(Layers, RuleOfTheFamilyIsMarkedAsAssumed) {
  const auto origin = [](std::string_view more) {
    const auto model = read(
        fmt::format(R"({{"model_type":"gemma2","head_dim":64,"num_hidden_layers":2{}}})", more));
    return use_named(model, "full_attention").settings.front().origin;
  };
  EXPECT_EQ(origin(""), Origin::assumed);
  EXPECT_EQ(origin(R"(,"sliding_window_pattern":2)"), Origin::file);
  EXPECT_EQ(origin(R"(,"layer_types":["sliding_attention","full_attention"])"), Origin::file);
}

TEST(Layers, QwenSlidesFromALayerOnWhenSwitchedOn) {
  const auto json = [](std::string_view on) {
    return fmt::format(
        R"({{"model_type":"qwen2","head_dim":64,"num_hidden_layers":4,"sliding_window":32,
        "max_window_layers":3,"use_sliding_window":{}}})",
        on);
  };
  EXPECT_EQ(use_named(read(json("true")), "sliding_attention").layers, (std::vector<int64_t>{3}));
  EXPECT_EQ(attention(read(json("false"))).layers.size(), 4u);
}

TEST(Layers, ExaoneWithoutAWindowRotatesEverywhere) {
  const auto model = read(R"({"model_type":"exaone4","head_dim":64,"num_hidden_layers":4,
      "sliding_window":null,"sliding_window_pattern":"LLLG"})");
  EXPECT_EQ(attention(model).layers.size(), 4u);
  EXPECT_EQ(method_name(attention(model).spec), "rotary");
  EXPECT_TRUE(model.warnings.empty());
}

TEST(Layers, UnknownKindIsRefused) {
  EXPECT_SAYS(error_of(llama(R"("layer_types":["odd","odd","odd","odd"])")),
              "layer type the string \"odd\" is not known");
}

// With two bases a table has an axis of 2, which was once read as the width of a head.
TEST(Layers, TwoBasesDoNotChangeTheWidth) {
  const auto model = read(R"({"model_type":"gemma3_text","head_dim":128,"num_hidden_layers":6,
      "rope_theta":1000000.0,"rope_local_base_freq":10000.0})");
  for (const std::string_view name : {"full_attention", "sliding_attention"}) {
    EXPECT_EQ(rotation(use_named(model, name)).head_dim, 128) << name;
    EXPECT_EQ(rotation(use_named(model, name)).rotary_dim, 128) << name;
    EXPECT_EQ(rotation(use_named(model, name)).inv_freq.size(), 64u) << name;
  }
}

// Every fourth layer without rotation, asked for by a family that has no other sign of it.
TEST(Layers, EveryFourthLayerOfSmolLm3DoesNotTurn) {
  const auto model = read(R"({"model_type":"smollm3","head_dim":128,"num_hidden_layers":8,
      "no_rope_layers":[1,1,1,0,1,1,1,0],"no_rope_layer_interval":4})");
  std::vector<int64_t> still;
  for (const PositionUse& use : model.uses) {
    if (std::holds_alternative<Nope>(use.spec.method)) still = use.layers;
  }
  EXPECT_EQ(still, (std::vector<int64_t>{3, 7}));
}

}  // namespace
}  // namespace hodometer
