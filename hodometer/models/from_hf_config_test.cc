#include "hodometer/models/from_hf_config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace hodometer {
namespace {

ModelPositions read(std::string_view json) {
  auto model = from_hf_config(json);
  EXPECT_TRUE(model.ok()) << model.error().message << "\n" << json;
  return model.ok() ? *model : ModelPositions{};
}

std::string error_of(std::string_view json) {
  const auto model = from_hf_config(json);
  EXPECT_FALSE(model.ok()) << json;
  return model.ok() ? "" : model.error().message;
}

const PositionUse& use_named(const ModelPositions& model, std::string_view name) {
  static const PositionUse none{};
  for (const PositionUse& use : model.uses) {
    if (use.name == name) return use;
  }
  ADD_FAILURE() << "no use " << name;
  return none;
}

RotatePairs rotation(const PositionUse& use, int64_t length = 1) {
  const auto list = actions(use.spec, length);
  EXPECT_TRUE(list.ok());
  for (const Action& action : *list) {
    if (const auto* pairs = std::get_if<RotatePairs>(&action)) return *pairs;
  }
  ADD_FAILURE() << use.name << " does not rotate";
  return {};
}

double inv_freq(const PositionUse& use, size_t pair) {
  const RotatePairs pairs = rotation(use);
  return pair < pairs.inv_freq.size() ? pairs.inv_freq[pair].to_double() : -1;
}

/// A Llama with the given members added to its config.
std::string llama(std::string_view members) {
  return fmt::format(R"({{"model_type":"llama","hidden_size":4096,"num_attention_heads":32,)"
                     R"("num_hidden_layers":4,"max_position_embeddings":131072{}{}}})",
                     members.empty() ? "" : ",", members);
}

const PositionUse& attention(const ModelPositions& model) { return use_named(model, "attention"); }

bool warns(const ModelPositions& model, std::string_view part) {
  for (const std::string& warning : model.warnings) {
    if (warning.find(part) != std::string::npos) return true;
  }
  return false;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// Keys of a scaling block: five keys, either name of the type, numbers that are numbers.

TEST(ScalingKeys, Llama3BlockOfFiveKeys) {
  const auto model = read(llama(R"("rope_theta":500000.0,"rope_scaling":{"factor":8.0,
      "low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192,
      "rope_type":"llama3"})"));
  const PositionUse& use = attention(model);
  EXPECT_NEAR(inv_freq(use, 28), 3.2114459948e-03, 1e-12);
  EXPECT_NEAR(inv_freq(use, 29), 2.1665707635e-03, 1e-12);
  EXPECT_NEAR(inv_freq(use, 34), 1.7850781277e-04, 1e-13);
  EXPECT_NEAR(inv_freq(use, 63), 3.0689259889e-07, 1e-16);
  EXPECT_EQ(use.trained_length, 8192);
  EXPECT_EQ(use.longest_input, 131072);
}

TEST(ScalingKeys, WholeNumberIsANumberAndAStringIsNot) {
  const auto block = [](std::string_view factor) {
    return llama(fmt::format(R"("rope_scaling":{{"type":"linear","factor":{}}})", factor));
  };
  EXPECT_EQ(spec_text(attention(read(block("8"))).spec),
            spec_text(attention(read(block("8.0"))).spec));
  EXPECT_NEAR(inv_freq(attention(read(block("1.0"))), 0), 1.0, 0);
  EXPECT_SAYS(error_of(block("\"8\"")), "rope_scaling.factor: expected a number, got the string");
  EXPECT_SAYS(error_of(block("0")), "factor");
  EXPECT_SAYS(error_of(block("-4")), "factor");
  EXPECT_SAYS(error_of(block("null")), "rope_scaling.factor is missing (it is null)");
  EXPECT_SAYS(error_of(block("1e999")), "config");
}

TEST(ScalingKeys, TypeIsAnAliasOfRopeType) {
  const std::string rest = R"("factor":4.0,"original_max_position_embeddings":32768})";
  const auto old_form = read(llama(R"("rope_scaling":{"type":"yarn",)" + rest));
  const auto new_form = read(llama(R"("rope_scaling":{"rope_type":"yarn",)" + rest));
  EXPECT_EQ(spec_text(attention(old_form).spec), spec_text(attention(new_form).spec));
  EXPECT_SAYS(error_of(llama(R"("rope_scaling":{"type":"linear","rope_type":"yarn",)" + rest)),
              "must agree");
}

TEST(ScalingKeys, UnknownTypeAndUnknownParameterAreRefused) {
  EXPECT_SAYS(error_of(llama(R"("rope_scaling":{"type":"telescopic","factor":2})")),
              "rope_scaling.rope_type is \"telescopic\"");
  EXPECT_SAYS(error_of(llama(R"("rope_scaling":{"type":"linear","factor":2,"betafast":3})")),
              "rope_scaling.betafast");
  EXPECT_TRUE(warns(read(llama(R"("rope_scaling":{"type":"linear","factor":2,"beta_fast":3})")),
                    "beta_fast not read by rope_type \"linear\""));
}

TEST(ScalingKeys, NullBlockMeansNone) {
  EXPECT_EQ(spec_text(attention(read(llama(R"("rope_scaling":null)"))).spec),
            spec_text(attention(read(llama(""))).spec));
}

TEST(ScalingKeys, BlockInBothPlacesMustAgree) {
  const std::string linear = R"({"rope_type":"linear","factor":2.0})";
  read(llama(R"("rope_scaling":)" + linear + R"(,"rope_parameters":)" + linear));
  EXPECT_SAYS(error_of(llama(R"("rope_scaling":)" + linear +
                             R"(,"rope_parameters":{"rope_type":"linear","factor":4.0})")),
              "both given and differ");
}

// The base: read where it is, never lost, never taken from another family.

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

// Partial rotary: every spelling, truncation, odd and zero widths.

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

// Windows and lengths.

TEST(Window, IsOriginalTimesFactorWhateverTheTypeIsCalled) {
  const auto model = read(R"({"model_type":"deepseek_v3","max_position_embeddings":1048576,
      "rope_scaling":{"type":"deepseek_yarn","factor":32,
      "original_max_position_embeddings":32768}})");
  EXPECT_EQ(attention(model).longest_input, 1048576);
  EXPECT_EQ(attention(model).trained_length, 32768);
  EXPECT_TRUE(model.warnings.empty());
}

TEST(Window, ExplicitFactorWinsAndTheConflictIsTold) {
  const auto model = read(R"({"model_type":"qwen3","max_position_embeddings":40960,
      "rope_scaling":{"rope_type":"yarn","factor":4.0,
      "original_max_position_embeddings":32768}})");
  EXPECT_NEAR(rotation(attention(model)).magnitude, 1.138629436, 1e-9);
  EXPECT_TRUE(warns(model, "40960"));
  EXPECT_TRUE(warns(model, "131072"));
}

TEST(Window, TopLevelTrainedLengthBeatsTheBlock) {
  const auto model = read(llama(R"("original_max_position_embeddings":4096,
      "rope_scaling":{"rope_type":"yarn","factor":4,
      "original_max_position_embeddings":2048})"));
  EXPECT_EQ(attention(model).trained_length, 4096);
  EXPECT_TRUE(warns(model, "2048"));
}

TEST(Window, NullFactorIsDerivedAndMarked) {
  const auto model = read(llama(R"("rope_scaling":{"rope_type":"yarn","factor":null,
      "original_max_position_embeddings":32768})"));
  EXPECT_NEAR(rotation(attention(model)).magnitude, 1.138629436, 1e-9);
  bool marked = false;
  for (const Setting& value : attention(model).settings) {
    marked |= value.name == "schedule.factor" && value.origin == Origin::assumed;
  }
  EXPECT_TRUE(marked);
}

TEST(Window, ScalingThatExtendsNothingAndFactorsBelowOneWarn) {
  EXPECT_TRUE(warns(read(llama(R"("rope_scaling":{"rope_type":"llama3","factor":8,
      "low_freq_factor":1,"high_freq_factor":4,
      "original_max_position_embeddings":131072})")),
                    "extends nothing"));
  EXPECT_TRUE(warns(read(llama(R"("rope_scaling":{"type":"linear","factor":0.5})")), "below 1"));
}

// YaRN's two factors.

TEST(YarnFactors, ExplicitOneIsNotUnset) {
  const auto model = read(llama(R"("rope_scaling":{"rope_type":"yarn","factor":4,
      "original_max_position_embeddings":32768,"attention_factor":1.0})"));
  EXPECT_EQ(rotation(attention(model)).magnitude, 1.0);
}

TEST(YarnFactors, LatentAttentionHasASecondFactorOnTheScore) {
  const auto scale = [](double mscale) {
    const auto model = read(fmt::format(
        R"({{"model_type":"deepseek_v2","max_position_embeddings":163840,"qk_nope_head_dim":128,
        "qk_rope_head_dim":64,"rope_scaling":{{"type":"yarn","factor":40,"mscale":{0},
        "mscale_all_dim":{0},"original_max_position_embeddings":4096}}}})",
        mscale));
    const PositionUse& use = attention(model);
    EXPECT_EQ(rotation(use).magnitude, 1.0);
    EXPECT_EQ(use.spec.logit_scale.size(), 1u);
    return logit_scale(use.spec.logit_scale.at(0)).at(0);
  };
  EXPECT_NEAR(scale(0.707), 1.589626165, 1e-9);
  EXPECT_NEAR(scale(1.0), 1.873854207, 1e-9);
}

TEST(YarnFactors, KeysThatEnginesDisagreeAboutAreRefused) {
  EXPECT_SAYS(error_of(llama(R"("rope_scaling":{"rope_type":"yarn","factor":4,
      "original_max_position_embeddings":32768,"extrapolation_factor":0.5})")),
              "extrapolation_factor is 0.5");
}

// LongRoPE and dynamic NTK.

TEST(LongRope, ListsAreCheckedByName) {
  const auto json = [](size_t shorts, size_t longs) {
    return fmt::format(R"({{"model_type":"phi3","head_dim":128,"partial_rotary_factor":0.75,
        "max_position_embeddings":131072,"original_max_position_embeddings":4096,
        "rope_scaling":{{"type":"su","short_factor":[{}],"long_factor":[{}]}}}})",
                       fmt::join(std::vector<double>(shorts, 1.0), ","),
                       fmt::join(std::vector<double>(longs, 2.0), ","));
  };
  const auto model = read(json(48, 48));
  EXPECT_NEAR(rotation(attention(model)).magnitude, 1.190238071, 1e-9);
  EXPECT_EQ(rotation(attention(model), 4096).inv_freq[1].to_double(),
            2 * rotation(attention(model), 4097).inv_freq[1].to_double());
  EXPECT_SAYS(error_of(json(48, 64)), "long_factor");
  EXPECT_SAYS(error_of(json(1, 48)), "short_factor");
}

TEST(Dynamic, BaseGrowsOnlyBeyondTheTrainedLength) {
  const auto model = read(R"({"model_type":"llama","head_dim":128,"max_position_embeddings":4096,
      "rope_scaling":{"type":"dynamic","factor":2}})");
  const PositionUse& use = attention(model);
  const double base = std::pow(rotation(use, 8192).inv_freq[32].to_double(), -2);
  EXPECT_NEAR(base, 30527.7367, 1e-3);
  EXPECT_NEAR(std::pow(rotation(use, 100).inv_freq[32].to_double(), -2), 10000, 1e-8);
}

TEST(Dynamic, AlphaBelongsToHunyuan) {
  const auto model = read(R"({"model_type":"hunyuan_v1_dense","head_dim":128,
      "max_position_embeddings":32768,"rope_scaling":{"type":"dynamic","alpha":1000.0,
      "factor":1.0,"beta_fast":32,"beta_slow":1}})");
  EXPECT_NEAR(std::pow(inv_freq(attention(model), 32), -2), 11158839.925, 1e-2);
  EXPECT_SAYS(error_of(llama(R"("rope_scaling":{"type":"dynamic","alpha":1000.0,"factor":1})")),
              "alpha");
}

// Layers.

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

TEST(Layers, SparseIndexerPairsInItsOwnWay) {
  const auto model = read(R"({"model_type":"deepseek_v32","max_position_embeddings":4096})");
  EXPECT_EQ(rotation(attention(model)).layout, PairLayout::interleaved);
  EXPECT_EQ(rotation(attention(model)).rotary_start, 128);
  EXPECT_EQ(rotation(use_named(model, "indexer")).layout, PairLayout::half_split);
  EXPECT_EQ(rotation(use_named(model, "indexer")).rotary_start, 0);
}

// Sections make it M-RoPE whatever the type says.

TEST(Sections, AreReadUnderAnyType) {
  for (const std::string_view type : {"mrope", "default"}) {
    const auto model = read(fmt::format(
        R"({{"model_type":"qwen2_5_vl","hidden_size":3584,"num_attention_heads":28,
        "rope_theta":1000000.0,"rope_scaling":{{"type":"{}","mrope_section":[16,24,24]}}}})",
        type));
    const auto& mrope = std::get<Mrope>(attention(model).spec.method);
    EXPECT_EQ(mrope.section_layout, SectionLayout::chunked);
    EXPECT_TRUE(model.warnings.empty());
  }
  EXPECT_SAYS(error_of(R"({"model_type":"qwen2_5_vl","hidden_size":3584,"num_attention_heads":28,
      "rope_scaling":{"type":"mrope","mrope_section":[16,24]}})"),
              "mrope_section");
}

// Pairing comes from the model type and nothing else.

TEST(Pairing, ComesFromTheModelType) {
  const std::string rest = R"(,"hidden_size":4096,"num_attention_heads":32})";
  const auto layout = [&](std::string_view type) {
    return rotation(attention(read(fmt::format(R"({{"model_type":"{}")", type) + rest))).layout;
  };
  for (const std::string_view type : {"llama", "qwen2", "mistral", "phi", "gemma", "qwen3"}) {
    EXPECT_EQ(layout(type), PairLayout::half_split) << type;
  }
  for (const std::string_view type : {"cohere", "gptj", "chatglm", "glm4", "ernie4_5"}) {
    EXPECT_EQ(layout(type), PairLayout::interleaved) << type;
  }
}

TEST(Pairing, UnknownModelTypeIsAnErrorThatNamesItsNeighbours) {
  const std::string message =
      error_of(R"({"model_type":"lama","hidden_size":64,"num_attention_heads":2})");
  EXPECT_SAYS(message, "\"lama\"");
  EXPECT_SAYS(message, "llama");
  EXPECT_SAYS(error_of(R"({"hidden_size":64,"num_attention_heads":2})"), "model_type is missing");
  const auto by_class = read(R"({"architectures":["Qwen2ForCausalLM"],"head_dim":64})");
  EXPECT_EQ(by_class.model_type, "qwen2");
  EXPECT_TRUE(warns(by_class, "Qwen2ForCausalLM"));
}

TEST(Pairing, FileThatContradictsTheCodeIsRefused) {
  read(llama(R"("rope_interleaved":false)"));
  EXPECT_SAYS(error_of(llama(R"("rope_interleaved":true)")), "half_split");
}

// Tables and biases.

TEST(Tables, StartAfterThePaddingRow) {
  const auto model = read(R"({"model_type":"roberta","hidden_size":768,"pad_token_id":1,
      "max_position_embeddings":514})");
  const auto& learned = std::get<Learned>(use_named(model, "embedding").spec.method);
  EXPECT_EQ(learned.offset, 2);
  EXPECT_EQ(learned.max_position_embeddings, 512);
  EXPECT_EQ(use_named(model, "embedding").longest_input, 512);
}

TEST(Tables, OptHasTwoRowsMore) {
  const auto model =
      read(R"({"model_type":"opt","hidden_size":768,"max_position_embeddings":2048})");
  EXPECT_EQ(std::get<Learned>(use_named(model, "embedding").spec.method).offset, 2);
  EXPECT_EQ(use_named(model, "embedding").longest_input, 2048);
}

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

TEST(Refusals, SayWhy) {
  EXPECT_SAYS(error_of(R"({"model_type":"deberta-v2"})"), "content-to-position");
  EXPECT_SAYS(error_of(R"({"model_type":"llama"})"), "hidden_size is missing");
  EXPECT_SAYS(error_of("[]"), "expected an object");
  EXPECT_SAYS(error_of(R"({"model_type":"llama","num_hidden_layers":9000000000,"head_dim":8})"),
              "num_hidden_layers");
  EXPECT_SAYS(error_of(R"({"model_type":"llama","head_dim":8,"head_dim":16})"), "twice");
}

TEST(Leftovers, KeysAboutPositionsThatNobodyReadAreNamed) {
  EXPECT_TRUE(warns(read(llama(R"("alibi_slope_scale":2)")), "alibi_slope_scale is not read"));
  EXPECT_SAYS(error_of(llama(R"("rotary":{"base":10000,"type":"dynamic"})")), "rotary is a block");
}

}  // namespace
}  // namespace hodometer
