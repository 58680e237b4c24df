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

// Every field is copied but the base, and 10000 is filled in: texts of 1000 tokens fall apart.
TEST(Base, OfTheFileIsNotReplacedByTheCustomaryOne) {
  const auto model = read(llama(R"("rope_theta":500000)"));
  EXPECT_EQ(std::get<Rotary>(attention(model).spec.method).base, 500000);
  bool found = false;
  for (const Setting& value : attention(model).settings) {
    found |= value.name == "base" && value.origin == Origin::file && value.source == "rope_theta";
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(warns(read(llama(R"("rope_thetas":500000)")), "rope_thetas is not understood"));
}

// A base written into a kernel: 10 rad in place of 1 rad at position 1000.
TEST(Base, IsReadWhateverTheFamilyUses) {
  const auto model = read(llama(R"("rope_theta":1000000.0)"));
  EXPECT_NEAR(1000 * inv_freq(attention(model), 32), 1.0, 1e-12);
}

// 1000 for 1000000, from a tutorial: digits and fragments come out.
TEST(Base, SlipInTheScalingBlockContradictsTheFile) {
  const std::string message = error_of(llama(R"("rope_theta":1000000,"rope_scaling":{
      "rope_type":"yarn","rope_theta":1000,"factor":4,"original_max_position_embeddings":32768})"));
  EXPECT_SAYS(message, "rope_scaling.rope_theta is 1000");
  EXPECT_SAYS(message, "rope_theta is 1000000");
}

// One family's 1000000 written for every model whose file has no base.
TEST(Base, MissingOneIsThatOfTheFamilyAndNotOfAnother) {
  const auto llama2 = read(R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,
      "max_position_embeddings":4096})");
  EXPECT_EQ(std::get<Rotary>(attention(llama2).spec.method).base, 10000);
}

// Keys of a custom class that arrive in another place than the class's own.
TEST(Base, OldKeysOfACustomClassAreReadFromTheFile) {
  const std::string custom =
      R"("auto_map":{"AutoConfig":"configuration_custom.CustomConfig"},"my_option":3)";
  const auto old_form = read(
      llama(custom + R"(,"rope_theta":500000.0,"rope_scaling":{"type":"linear","factor":2.0})"));
  const auto new_form = read(llama(
      custom + R"(,"rope_parameters":{"rope_type":"linear","factor":2.0,"rope_theta":500000.0})"));
  EXPECT_EQ(spec_text(attention(old_form).spec), spec_text(attention(new_form).spec));
  EXPECT_EQ(std::get<Rotary>(attention(old_form).spec.method).base, 500000);
  EXPECT_NEAR(inv_freq(attention(old_form), 0), 0.5, 0);
}

// A class copied from a full-rotary model makes a table of 4 pairs where 2 turn.
TEST(PartialRotary, TableIsAsWideAsThePartThatTurns) {
  const auto model = read(R"({"model_type":"gpt_neox","hidden_size":32,"num_attention_heads":4,
      "rotary_pct":0.5})");
  EXPECT_EQ(rotation(attention(model)).rotary_dim, 4);
  EXPECT_EQ(rotation(attention(model)).inv_freq.size(), 2u);
  EXPECT_EQ(rotation(attention(model)).head_dim, 8);
}

// Only one spelling was read: 128 lanes turned where 64 should.
TEST(PartialRotary, NoSpellingIsPassedOver) {
  const auto width = [](std::string_view member) {
    return rotation(
               attention(read(fmt::format(
                   R"({{"model_type":"gpt_neox","hidden_size":512,"num_attention_heads":4,{}}})",
                   member))))
        .rotary_dim;
  };
  for (const std::string_view member :
       {R"("rotary_pct":0.5)", R"("partial_rotary_factor":0.5)", R"("rope_pct":0.5)",
        R"("rotary_percent":0.5)", R"("rope_parameters":{"partial_rotary_factor":0.5})"}) {
    EXPECT_EQ(width(member), 64) << member;
  }
  EXPECT_EQ(
      rotation(attention(read(R"({"model_type":"minimax_m2","head_dim":128,"rotary_dim":64})")))
          .rotary_dim,
      64);
}

// A width forced to at least 2 turns lanes of a model that turns none.
TEST(PartialRotary, NothingTurnsAtZero) {
  const auto model = read(R"({"model_type":"gpt_neox","hidden_size":256,"num_attention_heads":4,
      "rotary_pct":0.0})");
  EXPECT_EQ(rotation(attention(model)).head_dim, 64);
  EXPECT_EQ(rotation(attention(model)).rotary_dim, 0);
  EXPECT_TRUE(rotation(attention(model)).inv_freq.empty());
}

}  // namespace
}  // namespace hodometer
