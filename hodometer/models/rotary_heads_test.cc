#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Base, IsReadFromEitherPlace) {
  const auto old_form = read(llama(R"("rope_theta":1000000,"rope_scaling":null)"));
  const auto new_form =
      read(llama(R"("rope_parameters":{"rope_type":"default","rope_theta":1000000})"));
  EXPECT_EQ(spec_text(attention(old_form).spec), spec_text(attention(new_form).spec));
  EXPECT_NEAR(inv_freq(attention(old_form), 32) * 1000, 1.0, 1e-12);
}

TEST(Base, IsAssumedAndSaysSo) {
  const auto model = read(llama(""));
  for (const Setting& value : attention(model).settings) {
    if (value.name != "base") continue;
    EXPECT_EQ(value.value, "10000");
    EXPECT_EQ(value.origin, Origin::assumed);
    return;
  }
  FAIL() << "no setting for the base";
}

TEST(Base, ContradictionNamesBothKeys) {
  const std::string message =
      error_of(llama(R"("rope_theta":10000,"rope_parameters":{"rope_theta":500000})"));
  EXPECT_SAYS(message, "rope_parameters.rope_theta is 500000");
  EXPECT_SAYS(message, "rope_theta is 10000");
  EXPECT_SAYS(error_of(llama(R"("rope_theta":null)")), "rope_theta");
  EXPECT_SAYS(error_of(llama(R"("rope_theta":-1)")), "base");
}

TEST(Base, OfDbrxLiesInItsAttentionBlock) {
  const auto model = read(R"({"model_type":"dbrx","d_model":6144,"n_heads":48,"n_layers":40,
      "max_seq_len":32768,"attn_config":{"rope_theta":500000.0}})");
  EXPECT_EQ(std::get<Rotary>(attention(model).spec.method).base, 500000);
}

TEST(PartialRotary, EverySpelling) {
  const auto width = [](std::string_view json) {
    return std::get<Rotary>(attention(read(json)).spec.method).width();
  };
  EXPECT_EQ(width(R"({"model_type":"gpt_neox","hidden_size":32,"num_attention_heads":4,
      "rotary_pct":0.5})"),
            4);
  EXPECT_EQ(width(R"({"model_type":"minimax_m2","head_dim":128,"rotary_dim":64})"), 64);
  EXPECT_EQ(width(R"({"model_type":"glm4_moe","head_dim":128,"partial_rotary_factor":0.5})"), 64);
  EXPECT_EQ(width(R"({"model_type":"gpt_neox","hidden_size":256,"num_attention_heads":4,
      "rotary_pct":0.0})"),
            0);
  for (const auto& [pct, expected] :
       {std::pair{0.25, 32}, {0.4, 51}, {0.5, 64}, {0.75, 96}, {1.0, 128}}) {
    const std::string json =
        fmt::format(R"({{"model_type":"phi3","head_dim":128,"partial_rotary_factor":{}}})", pct);
    if (expected % 2 == 1) {
      EXPECT_SAYS(error_of(json), "rotary_dim is 51");
    } else {
      EXPECT_EQ(width(json), expected);
    }
  }
}

TEST(PartialRotary, TruncatesAsHuggingFaceDoes) {
  const auto model = read(R"({"model_type":"mimo_v2_flash","head_dim":192,"num_hidden_layers":2,
      "rope_theta":5000000,"swa_rope_theta":10000,"partial_rotary_factor":0.334,
      "sliding_window":128,"hybrid_layer_pattern":[0,1]})");
  EXPECT_EQ(std::get<Rotary>(use_named(model, "full_attention").spec.method).width(), 64);
  EXPECT_EQ(std::get<Rotary>(use_named(model, "sliding_attention").spec.method).base, 10000);
}

TEST(PartialRotary, SpellingsThatDisagreeAreRefused) {
  EXPECT_SAYS(error_of(R"({"model_type":"phi","head_dim":64,"partial_rotary_factor":0.5,
      "rotary_dim":16})"),
              "must agree");
  EXPECT_SAYS(error_of(R"({"model_type":"gpt_neox","head_dim":64,"rotary_pct":0.5,
      "partial_rotary_factor":0.25})"),
              "rotary_pct is 0.5");
}

TEST(PartialRotary, PartThatThePublishedCodeIgnoresIsRefused) {
  EXPECT_SAYS(error_of(llama(R"("partial_rotary_factor":0.5)")), "does not read it");
}

}  // namespace
}  // namespace hodometer
