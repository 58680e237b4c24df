#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Biases, FalconRoundsItsSlopesAndDividesThem) {
  const auto model = read(R"({"model_type":"falcon","alibi":true,"hidden_size":4544,
      "num_attention_heads":71})");
  const auto& alibi = std::get<Alibi>(attention(model).spec.method);
  ASSERT_EQ(alibi.slopes->size(), 71u);
  EXPECT_NEAR(alibi.slopes->at(0), 0.917969 / 8, 1e-7);
  EXPECT_NEAR(alibi.slopes->at(1), 0.839844 / 8, 1e-7);
  EXPECT_NEAR(alibi.slopes->at(2), 0.769531 / 8, 1e-7);
}

TEST(Biases, BaichuanIsTwoModels) {
  const auto json = [](int width) {
    return fmt::format(R"({{"model_type":"baichuan","hidden_size":{},"num_attention_heads":{}}})",
                       width, width / 128);
  };
  EXPECT_EQ(method_name(attention(read(json(4096))).spec), "rotary");
  EXPECT_EQ(method_name(attention(read(json(5120))).spec), "alibi");
  EXPECT_SAYS(error_of(json(2048)), "no key tells which");
}

// Cross-attention was given the decoder's bias, which the model does not have.
TEST(Biases, CrossAttentionOfT5HasNone) {
  const auto model = read(R"({"model_type":"t5","d_model":512,"num_heads":8,"num_layers":6,
      "relative_attention_num_buckets":32})");
  EXPECT_EQ(method_name(use_named(model, "cross_attention").spec), "nope");
  const auto& encoder = std::get<T5Bias>(use_named(model, "encoder").spec.method);
  const auto& decoder = std::get<T5Bias>(use_named(model, "decoder").spec.method);
  EXPECT_TRUE(encoder.bidirectional);
  EXPECT_FALSE(decoder.bidirectional);
}

}  // namespace
}  // namespace hodometer
