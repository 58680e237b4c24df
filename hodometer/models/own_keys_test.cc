#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Qwen1, BaseStepsWithTheLengthAndScoresGrow) {
  const auto model = read(R"({"model_type":"qwen","hidden_size":4096,"num_attention_heads":32,
      "kv_channels":128,"rotary_emb_base":10000,"rotary_pct":1.0,"seq_length":8192,
      "max_position_embeddings":32768,"use_dynamic_ntk":true,"use_logn_attn":true})");
  const PositionUse& use = attention(model);
  EXPECT_NEAR(std::pow(rotation(use, 8193).inv_freq[32].to_double(), -2), 30527.74, 1e-2);
  EXPECT_NEAR(std::pow(rotation(use, 20000).inv_freq[32].to_double(), -2), 72195.86, 1e-2);
  EXPECT_NEAR(std::pow(rotation(use, 8192).inv_freq[32].to_double(), -2), 10000, 1e-8);
  EXPECT_EQ(logit_scale(use.spec.logit_scale.at(0)).at(8191), 1.0);
  EXPECT_NEAR(logit_scale(use.spec.logit_scale.at(0)).at(16383),
              std::log(16384.0) / std::log(8192.0), 1e-12);
}

TEST(ChatGlm, TurnsHalfTheHeadAndScalesTheBase) {
  const auto model = read(R"({"model_type":"chatglm","kv_channels":128,"rope_ratio":50,
      "num_layers":28,"seq_length":8192})");
  const auto& rotary = std::get<Rotary>(attention(model).spec.method);
  EXPECT_EQ(rotary.base, 500000);
  EXPECT_EQ(rotary.width(), 64);
  EXPECT_EQ(rotary.layout, PairLayout::interleaved);
  EXPECT_SAYS(error_of(R"({"model_type":"chatglm","kv_channels":128,
      "position_encoding_2d":true})"),
              "position_encoding_2d");
}

TEST(Moonshine, BothStacksTurnAnEvenSlice) {
  const auto model = read(R"({"model_type":"moonshine","hidden_size":288,
      "encoder_num_attention_heads":8,"decoder_num_attention_heads":8,
      "partial_rotary_factor":0.9})");
  EXPECT_EQ(rotation(use_named(model, "encoder")).rotary_dim, 32);
  EXPECT_EQ(use_named(model, "encoder").mask, MaskKind::bidirectional);
  EXPECT_EQ(rotation(use_named(model, "decoder")).rotary_dim, 32);
  EXPECT_EQ(method_name(use_named(model, "cross_attention").spec), "nope");
}

TEST(Esm, KeyTellsRotaryFromTable) {
  EXPECT_EQ(method_name(attention(read(R"({"model_type":"esm","hidden_size":64,
      "num_attention_heads":2,"position_embedding_type":"rotary"})"))
                            .spec),
            "rotary");
  EXPECT_EQ(read(R"({"model_type":"esm","hidden_size":64,"max_position_embeddings":1026})")
                .uses.front()
                .name,
            "embedding");
}

}  // namespace
}  // namespace hodometer
