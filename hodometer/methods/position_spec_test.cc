#include "hodometer/methods/position_spec.h"

#include <gtest/gtest.h>

#include <string>

namespace hodometer {
namespace {

// Every text form that users write, and that must survive the round trip unchanged.
TEST(PositionSpec, TextFormsRoundTrip) {
  for (const std::string text : {
           R"({"method":"rotary","head_dim":128,"rotary_dim":64,"layout":"half_split",)"
           R"("base":10000.0,"schedule":{"rope_type":"yarn","factor":4.0,)"
           R"("original_max_position_embeddings":32768}})",
           R"({"method":"alibi","num_heads":12})",
           R"({"method":"alibi","slopes":[0.5,0.25]})",
           R"({"method":"t5_bias","num_heads":8,"relative_attention_num_buckets":64,)"
           R"("bidirectional":false})",
           R"({"method":"sinusoidal","dim":512,"layout":"interleaved"})",
           R"({"method":"learned","max_position_embeddings":1024,"dim":768})",
           R"({"method":"shaw","max_distance":16})",
           R"({"method":"nope"})",
           R"({"method":"nope","logit_scale":[{"rule":"temperature","beta":0.1,)"
           R"("floor_scale":8192.0,"offset":1}]})",
           R"({"method":"mrope","head_dim":128,"layout":"half_split","base":1000000.0,)"
           R"("mrope_section":[16,24,24],"section_layout":"chunked"})",
           R"({"method":"axial_rotary","head_dim":80,"layout":"half_split","base":10000.0,)"
           R"("axis_layout":"blocks"})",
           R"({"method":"xpos","head_dim":64,"layout":"interleaved","base":10000.0,)"
           R"("scale_base":256.0})",
       }) {
    const auto spec = parse_spec(text);
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    EXPECT_EQ(spec_text(*spec), text);
  }
}

TEST(PositionSpec, DefaultsMayBeWrittenOut) {
  const auto spec = parse_spec(R"({"method":"alibi","num_heads":12,"alibi_bias_max":8})");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec_text(*spec), R"({"method":"alibi","num_heads":12})");
}

// What is wrong, with its value and its place.
TEST(PositionSpec, ErrorsNameTheValueAndThePlace) {
  struct Case {
    std::string text, part;
  };
  const std::string rotary = R"({"method":"rotary","head_dim":8,"layout":"half_split","base":1e4)";
  for (const Case& bad : {
           Case{"", "ends early"},
           Case{R"({"method":"nope")", "ends early"},
           Case{R"({"method":nope})", "not JSON at byte 11, near `ope}`"},
           Case{R"([1])", "expected an object, got a list of 1"},
           Case{R"({})", "missing member \"method\""},
           Case{R"({"method":"rope"})", "spec.method: expected one of"},
           Case{R"({"method":3})", "got 3"},
           Case{R"({"method":"nope","base":1})", "unknown member \"base\""},
           Case{R"({"method":"nope","method":"nope"})", "\"method\" appears twice"},
           Case{R"({"method":"rotary","head_dim":8,"base":1e4})", "missing member \"layout\""},
           Case{rotary + R"(,"layout":"adjacent"})", "appears twice"},
           Case{rotary + R"(,"rotary_dim":3})", "rotary_dim is 3: expected an even number"},
           Case{rotary + R"(,"rotary_dim":16})", "within head_dim 8"},
           Case{rotary + R"(,"rotary_dim":"4"})", "got the string \"4\""},
           Case{rotary + R"(,"rotary_dim":4.5})", "expected a whole number, got 4.5"},
           Case{rotary + R"(,"rotary_dim":null})", "got null"},
           Case{rotary + R"(,"schedule":{"rope_type":"linear","factor":0}})",
                "factor is 0: expected a finite number above 0"},
           Case{rotary + R"(,"schedule":{"rope_type":"linear","factor":"8"}})",
                "spec.schedule.factor: expected a number, got the string \"8\""},
           Case{rotary + R"(,"schedule":{"rope_type":"linear","factor":1e999}})",
                "not readable as JSON"},
           Case{rotary + R"(,"schedule":{"rope_type":"su"}})", "spec.schedule.rope_type"},
           Case{rotary + R"(,"schedule":{"rope_type":"longrope","short_factor":[1,1,1],)"
                         R"("long_factor":[1,1,1,1],"original_max_position_embeddings":4096}})",
                "short_factor has 3 entries: expected 4"},
           Case{rotary + R"(,"schedule":{"rope_type":"ntk","factor":2,"variant":"mixed"}})",
                "mixed_b is missing"},
           Case{R"({"method":"alibi"})", "num_heads is missing"},
           Case{R"({"method":"alibi","num_heads":3,"slopes":[1]})", "slopes has 1 entries"},
           Case{R"({"method":"shaw"})", "expected either max_distance"},
           Case{R"({"method":"mrope","head_dim":8,"layout":"half_split","base":1e4,)"
                R"("mrope_section":[1,1,1],"section_layout":"chunked"})",
                "sums to 3: expected rotary_dim / 2, 4"},
           Case{std::string(1000, '['), "nested more than 64"},
       }) {
    const auto spec = parse_spec(bad.text);
    ASSERT_FALSE(spec.ok()) << bad.text;
    EXPECT_NE(spec.error().message.find(bad.part), std::string::npos)
        << bad.text << "\n  " << spec.error().message;
  }
}

TEST(PositionSpec, ZeroWidthRotaryIsLegalAndDoesNothing) {
  const auto spec = parse_spec(
      R"({"method":"rotary","head_dim":64,"rotary_dim":0,"layout":"half_split","base":10000})");
  ASSERT_TRUE(spec.ok());
  const auto list = actions(*spec, 1);
  ASSERT_TRUE(list.ok());
  EXPECT_TRUE(std::get<RotatePairs>(list->at(0)).inv_freq.empty());
}

TEST(PositionSpec, NumbersThatAreWholeAreIntegers) {
  EXPECT_TRUE(parse_spec(R"({"method":"shaw","max_distance":16.0})").ok());
  EXPECT_FALSE(parse_spec(R"({"method":"shaw","max_distance":1e300})").ok());
  EXPECT_FALSE(parse_spec(R"({"method":"shaw","max_distance":true})").ok());
}

// A flag with opposite defaults in two functions of one library: here the pairing is always said.
TEST(PositionSpec, PairingHasNoDefault) {
  for (const std::string members : {
           R"("method":"rotary","head_dim":8,"base":10000)",
           R"("method":"mrope","head_dim":8,"base":10000,"mrope_section":[2,1,1],)"
           R"("section_layout":"chunked")",
           R"("method":"axial_rotary","head_dim":8,"base":10000,"axis_layout":"blocks")",
           R"("method":"xpos","head_dim":8,"base":10000)",
       }) {
    const auto unsaid = parse_spec("{" + members + "}");
    ASSERT_FALSE(unsaid.ok()) << members;
    EXPECT_NE(unsaid.error().message.find("missing member \"layout\""), std::string::npos)
        << unsaid.error().message;
    EXPECT_FALSE(parse_spec("{" + members + R"(,"layout":true})").ok());
    for (const char* layout : {"half_split", "interleaved"}) {
      EXPECT_TRUE(parse_spec("{" + members + R"(,"layout":")" + layout + "\"}").ok()) << members;
    }
  }
}

// Something that knows a base only would run a scaled model unscaled: it refuses by name.
TEST(PositionSpec, MethodThatKnowsABaseOnlyRefusesAScaling) {
  const auto spec = parse_spec(
      R"({"method":"axial_rotary","head_dim":8,"layout":"half_split","base":10000,
          "axis_layout":"blocks","schedule":{"rope_type":"llama3","factor":8,
          "low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":8192}})");
  ASSERT_FALSE(spec.ok());
  EXPECT_NE(spec.error().message.find("unknown member \"schedule\""), std::string::npos)
      << spec.error().message;
}

// Frequencies without the magnitude, and a scale of the query that steps every 8192 positions: a
// clean-up that loses one of them.
TEST(PositionSpec, MagnitudeSwitchedOffAndQueryScaleStandTogether) {
  const auto spec = parse_spec(
      R"({"method":"rotary","head_dim":128,"layout":"interleaved","base":1000000,
          "schedule":{"rope_type":"yarn","factor":36,"original_max_position_embeddings":8192,
          "beta_fast":32,"beta_slow":1,"attention_factor":1.0},
          "logit_scale":[{"rule":"temperature","beta":0.1,"floor_scale":8192,"offset":0}]})");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  const auto list = actions(*spec, 1);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 2u);
  const auto& rotation = std::get<RotatePairs>(list->at(0));
  EXPECT_EQ(rotation.magnitude, 1.0);
  EXPECT_NEAR(rotation.inv_freq[63].to_double() * 36, 1.2409377607517197e-06, 1e-17);
  const auto& scale = std::get<LogitScale>(list->at(1));
  EXPECT_EQ(scale.at(0), 1.0);
  EXPECT_EQ(scale.at(8191), 1.0);
  EXPECT_NEAR(scale.at(8192), 1.0693147, 5e-8);
}

// Each number is in range and what they give is not: heads would be turned by NaN.
TEST(PositionSpec, FrequenciesAndMagnitudesThatAreNoNumbersAreRefused) {
  const auto refused = [](const std::string& text, const std::string& words) {
    const auto list = actions(*parse_spec(text), 4096);
    EXPECT_FALSE(list.ok()) << text;
    if (list.ok()) return;
    EXPECT_NE(list.error().message.find(words), std::string::npos) << list.error().message;
  };
  const std::string rotary = R"({"method":"rotary","head_dim":4,"layout":"half_split",)";
  refused(rotary + R"("base":1e-310})", "rotary: pair 0 turns by ");
  refused(rotary + R"("base":10000,"schedule":{"rope_type":"linear","factor":1e-320}})",
          "turns by");
  refused(rotary + R"("base":10000,"schedule":{"rope_type":"yarn","factor":4,
                      "original_max_position_embeddings":4096,"attention_factor":1e39}})",
          "multiplied by 1e+39");
  refused(rotary + R"("base":10000,"schedule":{"rope_type":"yarn","factor":4,
                      "original_max_position_embeddings":4096,"attention_factor":1e-46}})",
          "multiplied by 1e-46");
}

TEST(PositionSpec, SizesThatFitNoMemoryAreRefused) {
  for (const char* text :
       {R"({"method":"sinusoidal","dim":9007199254740992,"layout":"halves"})",
        R"({"method":"learned","max_position_embeddings":1024,"dim":9007199254740992})",
        R"({"method":"learned","max_position_embeddings":9007199254740992,"dim":8})",
        R"({"method":"alibi","num_heads":9007199254740992})",
        R"({"method":"t5_bias","num_heads":9007199254740992,"bidirectional":false})"}) {
    const auto spec = parse_spec(text);
    EXPECT_FALSE(spec.ok()) << text;
    if (!spec.ok()) {
      EXPECT_NE(spec.error().message.find("9007199254740992: expected"), std::string::npos);
    }
  }
  const PositionSpec rotary =
      *parse_spec(R"({"method":"rotary","head_dim":4,"layout":"half_split","base":10000})");
  EXPECT_FALSE(actions(rotary, 0).ok());
  EXPECT_FALSE(actions(rotary, INT64_MAX).ok());
}

}  // namespace
}  // namespace hodometer
