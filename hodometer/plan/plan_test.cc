#include "hodometer/plan/plan.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hodometer {
namespace {

PositionSpec spec_of(const char* text) { return *parse_spec(text); }

TEST(Plan, LengthMattersOnlyToSchedulesThatLookAtIt) {
  const PositionSpec dynamic = spec_of(
      R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"dynamic","factor":2,"original_max_position_embeddings":4096}})");
  const Plan shorter = *make_plan(dynamic, 100);
  const Plan trained = *make_plan(dynamic, 4096);
  const Plan longer = *make_plan(dynamic, 8192);
  EXPECT_EQ(shorter.rotations[0].angles.step, trained.rotations[0].angles.step);
  EXPECT_NE(shorter.rotations[0].angles.step, longer.rotations[0].angles.step);
  // A long call leaves no trace on the next short one.
  EXPECT_EQ(make_plan(dynamic, 100)->rotations[0].angles.step, shorter.rotations[0].angles.step);
}

TEST(Plan, RefusesLengthsWithoutAPosition) {
  const PositionSpec nope = spec_of(R"({"method":"nope"})");
  EXPECT_EQ(make_plan(nope, 0).error().message,
            "make_plan: context_length is 0: expected 1 to 2147483648");
  EXPECT_FALSE(make_plan(nope, (int64_t{1} << 31) + 1).ok());
  EXPECT_TRUE(make_plan(nope, int64_t{1} << 31).ok());
}

TEST(Plan, BadSpecsAreRefused) {
  PositionSpec spec = spec_of(R"({"method":"alibi","num_heads":12})");
  std::get<Alibi>(spec.method).num_heads = -1;
  EXPECT_FALSE(make_plan(spec, 1).ok());
}

TEST(Plan, LogitScalesMultiply) {
  const Plan plan =
      *make_plan(spec_of(R"({"method":"nope","logit_scale":[{"rule":"constant","factor":2},
              {"rule":"temperature","beta":0.1,"floor_scale":8192,"offset":1}]})"),
                 1);
  EXPECT_DOUBLE_EQ(plan.logit_scale_at(8190), 2.0);
  EXPECT_NEAR(plan.logit_scale_at(8191), 2 * 1.0693147181, 1e-9);
  EXPECT_NEAR(plan.logit_scale_at(1048575), 2 * 1.4859812404, 1e-9);
}

TEST(Plan, EveryMethodHasOne) {
  EXPECT_EQ(make_plan(spec_of(R"({"method":"sinusoidal","dim":5,"layout":"interleaved"})"), 1)
                ->row->angles.step.size(),
            3u);
  EXPECT_TRUE(make_plan(spec_of(R"({"method":"learned","max_position_embeddings":4,"dim":2})"), 1)
                  ->row->angles.step.empty());
  EXPECT_EQ(make_plan(spec_of(R"({"method":"axial_rotary","head_dim":16,"layout":"half_split",
                                  "base":100,"axis_layout":"parts"})"),
                      1)
                ->rotations.size(),
            2u);
  EXPECT_TRUE(
      make_plan(spec_of(R"({"method":"shaw","max_distance":3})"), 1)->query_table_bias.has_value());
}

// A table that a long input enlarged in place and that never shrank.
TEST(Plan, LongInputLeavesNoTraceOnTheNextShortOne) {
  const PositionSpec dynamic = spec_of(
      R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"dynamic","factor":2,"original_max_position_embeddings":4096}})");
  const auto base_at = [&](int64_t length) {
    const double turns = make_plan(dynamic, length)->rotations[0].angles.turns[32];
    return std::pow(turns * 2 * M_PI, -2);
  };
  EXPECT_NEAR(base_at(8192), 30527.7367, 1e-4);
  EXPECT_NEAR(base_at(100), 10000, 1e-8);
}

// Frequencies that a loader left as whatever the memory held: 8.4e-45 in place of 0.0487.
TEST(Plan, FrequenciesComeFromTheSpecAndNotFromMemory) {
  const PositionSpec spec =
      spec_of(R"({"method":"rotary","head_dim":64,"layout":"half_split","base":10000000})");
  const Plan plan = *make_plan(spec, 1);
  EXPECT_NEAR(plan.rotations[0].angles.turns[6] * 2 * M_PI, 0.0487, 5e-5);
  const Plan again = *make_plan(*parse_spec(spec_text(plan.spec)), 1);
  EXPECT_EQ(again.rotations[0].angles.step, plan.rotations[0].angles.step);
  EXPECT_EQ(again.rotations[0].angles.inv_freq_float32, plan.rotations[0].angles.inv_freq_float32);
}

// A table of a million rows in each of 40 layers: a plan holds frequencies, whatever the window.
TEST(Plan, SizeDoesNotFollowTheWindow) {
  const PositionSpec spec =
      spec_of(R"({"method":"rotary","head_dim":128,"layout":"half_split","base":10000})");
  for (const int64_t window : {4096, 1024000, 10485760}) {
    const Plan plan = *make_plan(spec, window);
    EXPECT_EQ(plan.rotations[0].angles.step.size(), 64u);
    EXPECT_EQ(plan.rotations[0].angles.turns.size(), 64u);
    EXPECT_EQ(plan.rotations[0].angles.inv_freq_float32.size(), 64u);
  }
}

}  // namespace
}  // namespace hodometer
