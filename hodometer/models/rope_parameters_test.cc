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

// A block that is parsed and never read, because its type stands under the other name.
TEST(ScalingKeys, Llama3BlockIsReadUnderEitherNameOfItsType) {
  for (const std::string_view name : {"type", "rope_type"}) {
    const auto model = read(llama(fmt::format(
        R"("rope_theta":500000.0,"rope_scaling":{{"{}":"llama3","factor":8.0,"low_freq_factor":1.0,
        "high_freq_factor":4.0,"original_max_position_embeddings":8192}})",
        name)));
    EXPECT_NEAR(1600 * inv_freq(attention(model), 35), 0.1529, 5e-5) << name;
  }
}

// A longer window asked of a scaled model: the rule and the base stay, the window widens.
TEST(ScalingKeys, WiderWindowKeepsTheRuleAndTheBase) {
  const auto of_window = [](int64_t window) {
    return read(fmt::format(R"({{"model_type":"llama","head_dim":128,"rope_theta":500000.0,
        "max_position_embeddings":{},"rope_scaling":{{"rope_type":"llama3","factor":8.0,
        "low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192}}}})",
                            window));
  };
  const auto published = of_window(131072), widened = of_window(262144);
  EXPECT_EQ(spec_text(attention(published).spec), spec_text(attention(widened).spec));
  EXPECT_EQ(std::get<Rotary>(attention(widened).spec.method).base, 500000);
  EXPECT_EQ(attention(widened).trained_length, 8192);
  EXPECT_EQ(attention(published).longest_input, 131072);
  EXPECT_EQ(attention(widened).longest_input, 262144);
}

// An empty option that overwrites the model's own scaling.
TEST(ScalingKeys, EmptyBlockDoesNotRemoveTheOther) {
  const std::string linear = R"("rope_scaling":{"type":"linear","factor":4.0})";
  for (const std::string empty : {R"(,"rope_parameters":null)", R"(,"rope_parameters":{})"}) {
    EXPECT_NEAR(inv_freq(attention(read(llama(linear + empty))), 0), 0.25, 0) << empty;
  }
}

// A block that was documented for one reader and refused by another.
TEST(ScalingKeys, YarnBlockWithItsTrainedLengthIsComplete) {
  const auto model = read(R"({"model_type":"qwen2","head_dim":128,"max_position_embeddings":32768,
      "rope_theta":1000000.0,"rope_scaling":{"type":"yarn","factor":4.0,
      "original_max_position_embeddings":32768}})");
  EXPECT_TRUE(model.warnings.empty());
  EXPECT_EQ(attention(model).trained_length, 32768);
  EXPECT_EQ(attention(model).longest_input, 131072);
  EXPECT_NEAR(rotation(attention(model)).magnitude, 1.138629436, 1e-9);
}

// A factor that a conversion did not write: position 16383 must act as 4095.75.
TEST(ScalingKeys, LinearFactorIsNotDropped) {
  const auto model = read(llama(R"("rope_scaling":{"type":"linear","factor":4.0})"));
  EXPECT_NEAR(16383 * inv_freq(attention(model), 0), 4095.75, 1e-9);
  bool told = false;
  for (const Setting& value : attention(model).settings) {
    told |= value.name == "schedule.factor" && value.value == "4" &&
            value.source == "rope_scaling.factor" && value.origin == Origin::file;
  }
  EXPECT_TRUE(told);
}

// One number for the trained length and for the window.
TEST(Window, TrainedLengthAndWindowAreTwoNumbers) {
  const auto model = read(R"({"model_type":"deepseek_v3","max_position_embeddings":163840,
      "rope_theta":10000,"rope_scaling":{"type":"yarn","factor":40,"beta_fast":32,"beta_slow":1,
      "mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":4096}})");
  EXPECT_EQ(attention(model).trained_length, 4096);
  EXPECT_EQ(attention(model).longest_input, 163840);
  EXPECT_NEAR(inv_freq(attention(model), 16), 5.5e-3, 1e-12);
  EXPECT_TRUE(model.warnings.empty());
}

// The length of the file is the extended one already: times the factor it would be 5242880.
TEST(Window, ExtendedLengthIsNotMultipliedAgain) {
  const auto longest = [](std::string_view original) {
    const auto model = read(fmt::format(R"({{"model_type":"llama","head_dim":64,
        "max_position_embeddings":131072,"rope_scaling":{{"type":"deepseek_yarn","factor":40{}}}}})",
                                        original));
    EXPECT_EQ(warns(model, "131072"), !original.empty());
    return attention(model).longest_input;
  };
  EXPECT_EQ(longest(R"(,"original_max_position_embeddings":4096)"), 163840);
  EXPECT_EQ(longest(""), 131072);
}

// The weight of the plain part is no factor of the length.
TEST(YarnFactors, WeightOfThePlainPartIsNotTheFactor) {
  const std::string block = R"("rope_scaling":{"rope_type":"yarn","factor":64,
      "original_max_position_embeddings":4096)";
  const auto model = read(llama(block + "}"));
  const auto& rotary = std::get<Rotary>(attention(model).spec.method);
  EXPECT_EQ(std::get<YarnSchedule>(rotary.schedule).extrapolation_factor, 1.0);
  EXPECT_EQ(std::get<YarnSchedule>(rotary.schedule).factor, 64.0);
  EXPECT_SAYS(error_of(llama(block + R"(,"extrapolation_factor":64})")),
              "extrapolation_factor is 64");
}

// One of two lists is never used, and a magnitude in the file is computed anew.
TEST(LongRope, MagnitudesOfTheFileReplaceTheComputedOne) {
  const auto model = [](std::string_view more) {
    const std::vector<double> shorts(48, 1.0), longs(48, 2.0);
    return read(fmt::format(R"({{"model_type":"phi3","head_dim":96,
        "max_position_embeddings":131072,"original_max_position_embeddings":4096,
        "rope_scaling":{{"type":"longrope","short_factor":[{}],"long_factor":[{}]{}}}}})",
                            fmt::join(shorts, ","), fmt::join(longs, ","), more));
  };
  EXPECT_NEAR(rotation(attention(model(""))).magnitude, 1.190238071, 5e-10);
  EXPECT_EQ(rotation(attention(model(R"(,"attention_factor":1.5)"))).magnitude, 1.5);
  const auto both = model(R"(,"short_mscale":1.25,"long_mscale":1.5)");
  EXPECT_EQ(rotation(attention(both), 4096).magnitude, 1.25);
  EXPECT_EQ(rotation(attention(both), 4097).magnitude, 1.5);
  EXPECT_EQ(rotation(attention(both), 4096).inv_freq[0].to_double(), 1.0);
  EXPECT_EQ(rotation(attention(both), 4097).inv_freq[0].to_double(), 0.5);
}

// Both lists in one buffer.
TEST(LongRope, TwoListsInOneAreRefused) {
  const std::vector<double> both(96, 1.0), one(48, 2.0);
  EXPECT_SAYS(error_of(fmt::format(R"({{"model_type":"phi3","head_dim":128,
      "partial_rotary_factor":0.75,"max_position_embeddings":131072,
      "original_max_position_embeddings":4096,
      "rope_scaling":{{"type":"longrope","short_factor":[{}],"long_factor":[{}]}}}})",
                                   fmt::join(both, ","), fmt::join(one, ","))),
              "short_factor has 96 entries: expected 48");
}

// The type falls through to a rule that doubles positions.
TEST(Dynamic, PositionsAreNotMultiplied) {
  const auto model = read(R"({"model_type":"llama","head_dim":128,"rope_theta":50000000.0,
      "max_position_embeddings":32768,"rope_scaling":{"rope_type":"dynamic","factor":6.0}})");
  const PositionUse& use = attention(model);
  EXPECT_EQ(rotation(use, 32768).inv_freq[0].to_double(), 1.0);
  EXPECT_EQ(rotation(use, 65536).inv_freq[0].to_double(), 1.0);
  EXPECT_NEAR(std::pow(rotation(use, 32768).inv_freq[32].to_double(), -2), 5e7, 1e-3);
  EXPECT_NEAR(std::pow(rotation(use, 65536).inv_freq[32].to_double(), -2), 360979300.43, 1e-2);
}

}  // namespace
}  // namespace hodometer
