#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

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

TEST(YarnFactors, ExplicitOneIsNotUnset) {
  const auto model = read(llama(R"("rope_scaling":{"rope_type":"yarn","factor":4,
      "original_max_position_embeddings":32768,"attention_factor":1.0})"));
  EXPECT_EQ(rotation(attention(model)).magnitude, 1.0);
}

TEST(YarnFactors, KeysThatEnginesDisagreeAboutAreRefused) {
  EXPECT_SAYS(error_of(llama(R"("rope_scaling":{"rope_type":"yarn","factor":4,
      "original_max_position_embeddings":32768,"extrapolation_factor":0.5})")),
              "extrapolation_factor is 0.5");
}

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

}  // namespace
}  // namespace hodometer
