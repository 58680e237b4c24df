#include "hodometer/tools/inspect.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hodometer/plan/plan.h"

namespace hodometer {
namespace {

PositionUse use_of(const std::string& spec) {
  PositionUse use;
  use.name = "attention";
  const Result<PositionSpec> parsed = parse_spec(spec);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  if (parsed.ok()) use.spec = *parsed;
  return use;
}

UseReport report_of(PositionUse use) {
  const Result<ModelReport> report = inspect({"test", 4, {std::move(use)}, {}});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  return report.ok() ? report->uses.front() : UseReport{};
}

TEST(Inspect, CountsThePairsThatCompleteNoTurn) {
  PositionUse use =
      use_of(R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})");
  use.trained_length = 4096;
  const UseReport report = report_of(use);
  ASSERT_TRUE(report.pairs);
  // Pair i has wavelength 2 pi 10000^(i/64): above 4096 from i = 64 log(4096 / 2 pi) / log 10000
  // on.
  const double first = 64 * std::log(4096 / (2 * std::acos(-1.0))) / std::log(1e4);
  EXPECT_EQ(*report.pairs->incomplete_pairs, 64 - static_cast<int64_t>(std::ceil(first)));
  EXPECT_NEAR(*report.pairs->longest_wavelength, 54410.14, 0.01);
  EXPECT_NEAR(*report.pairs->shortest_wavelength, 6.283185307, 1e-9);
  EXPECT_EQ(report.pairs->by_length.size(), 0U);
  EXPECT_EQ(report.schedule, "default");
}

TEST(Inspect, ShowsASwitchOnBothSides) {
  PositionUse use = use_of(R"({"method":"rotary","head_dim":4,"layout":"half_split","base":10000,
      "schedule":{"rope_type":"longrope","short_factor":[1,1],"long_factor":[2,8],
                  "original_max_position_embeddings":4096,"max_position_embeddings":131072}})");
  use.trained_length = 4096;
  use.longest_input = 131072;
  const UseReport report = report_of(use);
  ASSERT_TRUE(report.pairs);
  EXPECT_EQ(report.pairs->changes_beyond, 4096);
  ASSERT_EQ(report.pairs->by_length.size(), 2U);
  EXPECT_EQ(report.pairs->by_length[0].length, 4096);
  EXPECT_EQ(report.pairs->by_length[1].length, 131072);
  EXPECT_NEAR(report.pairs->by_length[1].longest_wavelength,
              8 * report.pairs->by_length[0].longest_wavelength, 1e-6);
  EXPECT_NEAR(report.pairs->attention_factor, 1.1902380714, 1e-10);
}

// Fault: partners taken from the pairs of all rotations, or a second pair shown where there is one.
TEST(Inspect, ShowsLanesThatTurnTogether) {
  using Pairs = std::vector<std::array<int64_t, 2>>;
  const auto first_pairs = [](const std::string& spec) {
    return report_of(use_of(spec)).pairs->first_pairs;
  };
  EXPECT_EQ(first_pairs(R"({"method":"axial_rotary","head_dim":64,"layout":"half_split",
                            "base":100,"axis_layout":"parts"})"),
            (Pairs{{0, 16}, {1, 17}}));
  EXPECT_EQ(first_pairs(R"({"method":"rotary","head_dim":2,"layout":"half_split","base":10000})"),
            (Pairs{{0, 1}}));
  EXPECT_EQ(first_pairs(R"({"method":"rotary","head_dim":12,"rotary_dim":8,"rotary_start":4,
                            "layout":"interleaved","base":10000})"),
            (Pairs{{4, 5}, {6, 7}}));
}

// Fault: a length from the file handed to a plan as it is, or doubled beyond 64 bits.
TEST(Inspect, TakesLengthsBeyondTheLastPosition) {
  for (const int64_t trained : {max_position + 1, int64_t{1} << 32, int64_t{1} << 53}) {
    PositionUse use = use_of(R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000,
        "schedule":{"rope_type":"dynamic","factor":2,"original_max_position_embeddings":)" +
                             std::to_string(trained) + "}}");
    use.trained_length = trained;
    use.longest_input = 2 * trained;
    const Result<ModelReport> report = inspect({"test", 1, {use}, {}});
    ASSERT_TRUE(report.ok()) << report.error().message;
    const bool beyond = trained > max_position + 1;
    EXPECT_EQ(report->uses[0].pairs->changes_beyond, trained);
    EXPECT_EQ(report->uses[0].pairs->by_length.size(), beyond ? 0U : 1U);
    ASSERT_EQ(report->warnings.size(), beyond ? 1U : 0U);
    if (beyond) {
      EXPECT_NE(report->warnings[0].find("2147483648"), std::string::npos);
    }
  }
}

TEST(Inspect, CountsPairsThatNeverTurn) {
  const UseReport report = report_of(use_of(
      R"({"method":"rotary","head_dim":512,"layout":"half_split","base":1000000,
          "schedule":{"rope_type":"proportional","partial_rotary_factor":0.25}})"));
  EXPECT_EQ(report.pairs->still_pairs, 192);
  EXPECT_TRUE(std::isfinite(*report.pairs->longest_wavelength));
  EXPECT_FALSE(report.pairs->incomplete_pairs);
}

TEST(Inspect, TellsRowsAndBiases) {
  const UseReport learned = report_of(
      use_of(R"({"method":"learned","max_position_embeddings":2048,"dim":768,"offset":2})"));
  ASSERT_TRUE(learned.rows);
  EXPECT_EQ(learned.rows->num_rows, 2050);
  EXPECT_EQ(learned.rows->offset, 2);
  const UseReport waves = report_of(use_of(R"({"method":"sinusoidal","dim":4,"layout":"halves"})"));
  EXPECT_NEAR(*waves.rows->longest_wavelength, 200 * std::acos(-1.0), 1e-9);
  const UseReport alibi = report_of(use_of(R"({"method":"alibi","num_heads":2})"));
  EXPECT_EQ(alibi.bias->slopes, (std::vector<double>{0.0625, 0.00390625}));
  const UseReport t5 =
      report_of(use_of(R"({"method":"t5_bias","num_heads":4,"bidirectional":false})"));
  EXPECT_EQ(t5.bias->num_buckets, 32);
  EXPECT_EQ(t5.bias->num_heads, 4);
  EXPECT_LE(*t5.bias->last_bucket_from, 128);
  const UseReport shaw = report_of(use_of(R"({"method":"shaw","max_distance":16})"));
  EXPECT_EQ(shaw.bias->left, 16);
}

TEST(Inspect, TellsFactorsOfTheScore) {
  PositionUse use = use_of(R"({"method":"nope","logit_scale":[
      {"rule":"temperature","beta":0.1,"floor_scale":8192,"offset":1}]})");
  use.longest_input = 1048576;
  const UseReport report = report_of(use);
  ASSERT_EQ(report.logit_scale.size(), 2U);
  EXPECT_EQ(report.logit_scale[0].factor, 1.0);
  EXPECT_NEAR(report.logit_scale[1].factor, 1.4859812404, 1e-10);
}

TEST(Inspect, AWrongSpecIsNamedByItsUse) {
  PositionUse use;
  use.name = "vision";
  use.spec.method = Alibi{};
  const Result<ModelReport> report = inspect({"test", {}, {use}, {}});
  ASSERT_FALSE(report.ok());
  EXPECT_TRUE(report.error().message.starts_with("vision: ")) << report.error().message;
}

TEST(Inspect, JsonHasEverySettingAndItsSource) {
  PositionUse use = use_of(R"({"method":"alibi","num_heads":2})");
  use.settings = {{"num_heads", "2", Origin::assumed, "customary"}};
  use.layers = {0, 1};
  const auto json =
      nlohmann::json::parse(report_json(*inspect({"test", 2, {use}, {"look \xff here"}})));
  EXPECT_EQ(json["num_layers"], 2);
  EXPECT_EQ(json["uses"][0]["parameters"][0]["origin"], "assumed");
  EXPECT_EQ(json["uses"][0]["spec"]["method"], "alibi");
  EXPECT_EQ(json["uses"][0]["mask"], "causal");
  EXPECT_EQ(json["warnings"].size(), 1U);
}

TEST(Inspect, DrawsRunsOfLayersTogether) {
  EXPECT_EQ(layers_text({}), "");
  EXPECT_EQ(layers_text({3}), "3");
  EXPECT_EQ(layers_text({0, 1, 2, 4, 6, 7}), "0-2, 4, 6-7");
}

}  // namespace
}  // namespace hodometer
