#include <gtest/gtest.h>

#include <string>

#include "hodometer/capi/hodometer_c.h"

namespace {

TEST(CPlan, ASpecCrossesAsText) {
  char* text = nullptr;
  ASSERT_EQ(hodo_spec_normalize(R"( {"num_heads": 12.0, "method": "alibi"} )", &text), HODO_OK);
  EXPECT_STREQ(text, R"({"method":"alibi","num_heads":12})");
  hodo_string_free(text);
  hodo_string_free(nullptr);
  EXPECT_EQ(hodo_spec_normalize(R"({"method":"alibi"})", &text), HODO_BAD_INPUT);
  EXPECT_NE(std::string(hodo_last_error()).find("num_heads"), std::string::npos);
  EXPECT_EQ(hodo_spec_normalize(nullptr, &text), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_spec_normalize: spec_json is NULL: expected a pointer");
}

TEST(CPlan, TellsItsShape) {
  hodo_plan* plan = nullptr;
  ASSERT_EQ(hodo_plan_create(
                R"({"method":"axial_rotary","head_dim":16,"layout":"half_split","base":100,
                    "axis_layout":"parts","logit_scale":[{"rule":"constant","factor":2}]})",
                1, HODO_ANGLES_EXACT, &plan),
            HODO_OK);
  EXPECT_EQ(hodo_plan_head_dim(plan), 16);
  EXPECT_EQ(hodo_plan_num_axes(plan), 2);
  EXPECT_EQ(hodo_plan_table_pairs(plan), 8);
  EXPECT_EQ(hodo_plan_logit_scale(plan, 5), 2.0);
  hodo_plan_free(plan);
  hodo_plan_free(nullptr);
}

TEST(CPlan, RefusesWhatIsNoPlan) {
  hodo_plan* plan = nullptr;
  EXPECT_EQ(hodo_plan_create("{", 1, HODO_ANGLES_EXACT, &plan), HODO_BAD_INPUT);
  EXPECT_EQ(hodo_plan_create(R"({"method":"nope"})", 0, HODO_ANGLES_EXACT, &plan), HODO_USAGE);
  EXPECT_EQ(hodo_plan_create(R"({"method":"nope"})", 1, static_cast<hodo_angles>(2), &plan),
            HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_plan_create: angles is 2: expected 0 to 1");
  EXPECT_EQ(plan, nullptr);
}

TEST(CPlan, AnExecutorHasAtLeastOneThread) {
  hodo_executor* executor = nullptr;
  EXPECT_EQ(hodo_executor_create(-1, &executor), HODO_USAGE);
  ASSERT_EQ(hodo_executor_create(1, &executor), HODO_OK);
  hodo_executor_free(executor);
  EXPECT_STREQ(hodo_version(), HODOMETER_VERSION);
}

TEST(CPlan, NoPlanHasNoShape) {
  EXPECT_EQ(hodo_plan_head_dim(nullptr), 0);
  EXPECT_EQ(hodo_plan_num_axes(nullptr), 0);
  EXPECT_EQ(hodo_plan_table_pairs(nullptr), 0);
  EXPECT_EQ(hodo_plan_logit_scale(nullptr, 0), 0);
}

}  // namespace
