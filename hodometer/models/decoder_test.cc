#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Layers, Llama4TemperatureCountsFromOneAndMinistralFromZero) {
  const auto llama4 = read(R"({"model_type":"llama4_text","num_hidden_layers":4})");
  const auto rule = logit_scale(use_named(llama4, "full_attention").spec.logit_scale.at(0));
  EXPECT_NEAR(rule.at(8190), 1.0, 0);
  EXPECT_NEAR(rule.at(8191), 1.0693147181, 1e-9);
  const auto ministral = read(R"({"model_type":"ministral3","max_position_embeddings":262144,
      "rope_parameters":{"rope_type":"yarn","type":"yarn","factor":16.0,"rope_theta":1000000.0,
      "original_max_position_embeddings":16384,"llama_4_scaling_beta":0.1,"mscale":1.0,
      "mscale_all_dim":1.0}})");
  const auto from_zero = logit_scale(attention(ministral).spec.logit_scale.at(0));
  EXPECT_NEAR(from_zero.at(16383), 1.0, 0);
  EXPECT_NEAR(from_zero.at(16384), 1.0693147181, 1e-9);
  EXPECT_NEAR(from_zero.at(262143), 1.2772588722, 1e-9);
}

TEST(Pairing, FileThatContradictsTheCodeIsRefused) {
  read(llama(R"("rope_interleaved":false)"));
  EXPECT_SAYS(error_of(llama(R"("rope_interleaved":true)")), "half_split");
}

TEST(Rotation, SwitchOfGranite) {
  const auto method = [](std::string_view type) {
    return std::string(
        method_name(read(fmt::format(R"({{"model_type":"granitemoehybrid","head_dim":64,
            "layer_types":["mamba","attention"],"position_embedding_type":{}}})",
                                     type))
                        .uses.back()
                        .spec));
  };
  EXPECT_EQ(method("\"rope\""), "rotary");
  EXPECT_EQ(method("\"nope\""), "nope");
  EXPECT_EQ(method("null"), "nope");
}

TEST(OldAndNewForm, GiveTheSameSpecs) {
  const auto specs = [](std::string_view json) {
    std::string all;
    for (const PositionUse& use : read(json).uses) all += spec_text(use.spec) + "\n";
    return all;
  };
  const std::string gemma = R"({"model_type":"gemma3_text","head_dim":256,"num_hidden_layers":6,)";
  EXPECT_EQ(specs(gemma + R"("rope_theta":1000000,"rope_local_base_freq":10000,
                "rope_scaling":{"rope_type":"linear","factor":8}})"),
            specs(gemma + R"("rope_parameters":{
                "full_attention":{"rope_type":"linear","factor":8,"rope_theta":1000000},
                "sliding_attention":{"rope_type":"default","rope_theta":10000}}})"));
  const std::string modern = R"({"model_type":"modernbert","hidden_size":768,
      "num_attention_heads":12,"num_hidden_layers":3,)";
  EXPECT_EQ(specs(modern + R"("global_rope_theta":160000,"local_rope_theta":10000})"),
            specs(modern + R"("rope_parameters":{
                "full_attention":{"rope_type":"default","rope_theta":160000},
                "sliding_attention":{"rope_type":"default","rope_theta":10000}}})"));
  const std::string neox = R"({"model_type":"gpt_neox","hidden_size":256,"num_attention_heads":4,)";
  EXPECT_EQ(specs(neox + R"("rotary_pct":0.5,"rotary_emb_base":20000})"),
            specs(neox + R"("rope_parameters":{"rope_type":"default","rope_theta":20000,
                "partial_rotary_factor":0.5}})"));
}

}  // namespace
}  // namespace hodometer
