// Configs that were read without a word and wrongly, each the smallest that shows its kind.

#include <gtest/gtest.h>

#include "hodometer/models/config_testing-inl.h"

namespace hodometer::models_testing {
namespace {

std::string config(std::string_view model_type, std::string_view members) {
  return fmt::format(R"({{"model_type":"{}","hidden_size":64,"num_attention_heads":4{}{}}})",
                     model_type, members.empty() ? "" : ",", members);
}

// The text section names another model of several parts: its text counts, not the outer one's.
TEST(ConfigFaults, ASectionMayNameTheWholeOfAnotherModel) {
  const auto model = read(R"({"model_type":"llava","text_config":{"model_type":"qwen3_5",
      "hidden_size":64,"num_attention_heads":4,"num_hidden_layers":4,
      "layer_types":["linear_attention","linear_attention","linear_attention","full_attention"]}})");
  EXPECT_TRUE(std::holds_alternative<Mrope>(use_named(model, "full_attention").spec.method));
}

TEST(ConfigFaults, NystromformerStartsAtRowTwo) {
  const auto model = read(R"({"model_type":"nystromformer","hidden_size":768})");
  const auto& learned = std::get<Learned>(use_named(model, "embedding").spec.method);
  EXPECT_EQ(learned.offset, 2);
  EXPECT_EQ(learned.max_position_embeddings, 510);
}

// Absent is not null: the class has a window then.
TEST(ConfigFaults, AnAbsentWindowIsThatOfTheClass) {
  const auto absent = read(config("exaone4", R"("num_hidden_layers":8)"));
  EXPECT_EQ(use_named(absent, "sliding_attention").mask_size, 4096);
  EXPECT_TRUE(std::holds_alternative<Nope>(use_named(absent, "full_attention").spec.method));
  const auto null = read(config("exaone4", R"("num_hidden_layers":8,"sliding_window":null)"));
  EXPECT_TRUE(std::holds_alternative<Rotary>(null.uses.at(0).spec.method));
  EXPECT_EQ(null.uses.size(), 1U);

  const auto qwen = read(config("qwen2", R"("num_hidden_layers":30,"use_sliding_window":true)"));
  EXPECT_EQ(use_named(qwen, "sliding_attention").mask_size, 4096);
  EXPECT_EQ(use_named(qwen, "sliding_attention").layers, (std::vector<int64_t>{28, 29}));
}

TEST(ConfigFaults, ScheduledModelsNeedTheirSchedule) {
  for (const auto model_type : {"gpt_oss", "ministral3"}) {
    EXPECT_SAYS(error_of(config(model_type, R"("num_hidden_layers":2)")),
                "rope_parameters is missing");
  }
}

// A flat block has the base of the full layers; sliding layers have one of their own.
TEST(ConfigFaults, AFlatBlockDoesNotSetTheLocalBase) {
  const std::string block =
      R"("num_hidden_layers":3,"rope_parameters":{"rope_type":"default","rope_theta":160000})";
  for (const std::string& local : {std::string(), std::string(R"(,"local_rope_theta":10000)")}) {
    const auto model = read(config("modernbert", block + local));
    EXPECT_EQ(std::get<Rotary>(use_named(model, "sliding_attention").spec.method).base, 10000);
    EXPECT_EQ(std::get<Rotary>(use_named(model, "full_attention").spec.method).base, 160000);
    EXPECT_EQ(use_named(model, "sliding_attention").mask_size, 128);
  }
}

TEST(ConfigFaults, AModelWithNothingInItIsRefused) {
  EXPECT_SAYS(error_of(config("llama", R"("layer_types":[])")), "no layer");
  EXPECT_SAYS(error_of(R"({"model_type":"clip"})"), "no layer");
}

TEST(ConfigFaults, MptWithoutAnyPositionsHasNone) {
  const auto none = read(R"({"model_type":"mpt","d_model":64,"n_heads":4,"n_layers":2,
      "max_seq_len":2048,"learned_pos_emb":false,"attn_config":{"alibi":false}})");
  EXPECT_TRUE(std::holds_alternative<Nope>(none.uses.at(0).spec.method));
  const auto table = read(R"({"model_type":"mpt","d_model":64,"n_heads":4,"n_layers":2,
      "max_seq_len":2048,"attn_config":{"alibi":false}})");
  EXPECT_TRUE(std::holds_alternative<Learned>(table.uses.at(0).spec.method));
}

TEST(ConfigFaults, NumberedLayersNeedTheirCount) {
  EXPECT_SAYS(error_of(config("mllama_text_model", R"("cross_attention_layers":[3,8])")),
              "num_hidden_layers is missing");
}

TEST(ConfigFaults, WidthsOfAHeadMustAgree) {
  EXPECT_SAYS(error_of(config("llama", R"("head_dim":128,"kv_channels":64)")), "must agree");
}

TEST(ConfigFaults, LengthsBelowOneAreRefused) {
  EXPECT_SAYS(error_of(R"({"model_type":"bloom","n_head":4,"n_layer":2,"seq_length":-5})"),
              "seq_length is -5");
  EXPECT_SAYS(error_of(config("bert", R"("max_position_embeddings":0)")),
              "max_position_embeddings is 0");
  EXPECT_SAYS(error_of(config("whisper", R"("max_source_positions":-1)")),
              "max_source_positions is -1");
}

// Python's own numbers in keys that have nothing to do with positions.
TEST(ConfigFaults, PythonNumbersDoNotHideTheRest) {
  const auto model = read(llama(R"("time_step_limit":[0.0,Infinity],"x":-Infinity,"y":NaN)"));
  EXPECT_EQ(model.uses.size(), 1U);
  EXPECT_SAYS(error_of(llama(R"("rope_theta":NaN)")), "NaN");
  EXPECT_SAYS(error_of(llama(R"("rope_scaling":{"type":"linear","factor":Infinity})")), "Infinity");
  EXPECT_TRUE(warns(read(llama(R"("rope_note \" NaN":"Infinity")")), "rope_note"));
}

TEST(ConfigFaults, TablesOfSinesHaveTheRowsThatTheFileSays) {
  EXPECT_EQ(read(R"({"model_type":"ctrl","n_embd":64,"n_positions":256})").uses.at(0).longest_input,
            256);
  EXPECT_EQ(read(R"({"model_type":"marian","d_model":64,"max_position_embeddings":512})")
                .uses.at(0)
                .longest_input,
            512);
}

TEST(ConfigFaults, JaisMayHaveATableInPlaceOfSlopes) {
  EXPECT_SAYS(error_of(R"({"model_type":"jais","n_head":4,"n_layer":2,
                           "position_embedding_type":"learned"})"),
              "only \"alibi\"");
}

TEST(ConfigFaults, NomicSaysItsPairing) {
  EXPECT_SAYS(error_of(config("nomic_bert", R"("rotary_emb_interleaved":true)")), "pairs lanes");
  EXPECT_SAYS(error_of(config("nomic_bert", R"("rotary_scaling_factor":2)")),
              "rotary_scaling_factor is 2");
  EXPECT_FALSE(warns(read(config("nomic_bert", R"("rotary_emb_interleaved":false)")),
                     "rotary_emb_interleaved"));
}

TEST(ConfigFaults, FrequenciesThatNoPlanTakesAreRefusedWhenRead) {
  EXPECT_SAYS(error_of(R"({"model_type":"llama","hidden_size":128,"num_attention_heads":1,
                           "rope_theta":1e-300})"),
              "attention");
}

TEST(ConfigFaults, AVisionTowerRoundsItsHeadsDownAloud) {
  const auto model = read(R"({"model_type":"qwen2_vl","text_config":{"model_type":"qwen2_vl_text",
      "hidden_size":64,"num_attention_heads":4,"rope_scaling":{"type":"mrope",
      "mrope_section":[2,3,3]}},"vision_config":{"embed_dim":100,"num_heads":6}})");
  EXPECT_TRUE(warns(model, "no multiple of"));
}

}  // namespace
}  // namespace hodometer::models_testing
