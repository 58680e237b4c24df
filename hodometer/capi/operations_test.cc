#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "hodometer/capi/hodometer_c.h"

namespace {

struct Free {
  void operator()(hodo_plan* plan) const { hodo_plan_free(plan); }
};
using Plan = std::unique_ptr<hodo_plan, Free>;

Plan plan_of(const char* spec) {
  hodo_plan* plan = nullptr;
  EXPECT_EQ(hodo_plan_create(spec, 1, HODO_ANGLES_EXACT, &plan), HODO_OK) << hodo_last_error();
  return Plan(plan);
}

hodo_heads contiguous(std::vector<float>& x, int64_t batch, int64_t length, int64_t heads,
                      int64_t head_dim) {
  return {x.data(),         HODO_FLOAT32, batch, length, heads, head_dim, length * heads * head_dim,
          heads * head_dim, head_dim};
}

TEST(COperations, RotateTurnsInPlaceAndBack) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":4,"layout":"interleaved","base":100})");
  std::vector<float> x(2 * 3 * 2 * 4, 1.0f);
  const hodo_heads heads = contiguous(x, 2, 3, 2, 4);
  const std::array<int64_t, 2> starts{7, 70000};
  const hodo_positions positions = hodo_positions_starts(starts.data(), 2, 1);
  ASSERT_EQ(hodo_rotate(plan.get(), &heads, 1, &positions, HODO_FORWARD, HODO_ROLE_UNSAID, nullptr),
            HODO_OK)
      << hodo_last_error();
  for (size_t b = 0; b < 2; ++b) {
    const double angle = static_cast<double>(starts[b] + 2) * 0.1;
    const size_t at = (b * 3 + 2) * 8 + 4 + 2;
    EXPECT_NEAR(x[at], std::cos(angle) - std::sin(angle), 1e-6);
    EXPECT_NEAR(x[at + 1], std::cos(angle) + std::sin(angle), 1e-6);
  }
  hodo_executor* executor = nullptr;
  ASSERT_EQ(hodo_executor_create(2, &executor), HODO_OK);
  ASSERT_EQ(
      hodo_rotate(plan.get(), &heads, 1, &positions, HODO_INVERSE, HODO_ROLE_UNSAID, executor),
      HODO_OK);
  hodo_executor_free(executor);
  for (const float value : x) EXPECT_NEAR(value, 1.0, 1e-6);
}

TEST(COperations, RotateToTakesManyAxesAndFractions) {
  const Plan plan = plan_of(
      R"({"method":"axial_rotary","head_dim":4,"layout":"half_split","base":100,"axis_layout":"blocks"})");
  std::vector<float> from{1, 1, 0, 0}, to(4, 9.0f);
  const hodo_heads source = contiguous(from, 1, 1, 1, 4), target = contiguous(to, 1, 1, 1, 4);
  const std::array<double, 2> at{0.5, 123456.25};
  const hodo_positions positions = hodo_positions_coordinates(at.data(), 2, 1, 1);
  ASSERT_EQ(hodo_rotate_to(plan.get(), &source, &target, &positions, HODO_FORWARD, HODO_ROLE_UNSAID,
                           nullptr),
            HODO_OK)
      << hodo_last_error();
  EXPECT_NEAR(to[0], std::cos(0.5), 1e-7);
  EXPECT_NEAR(to[3], std::sin(123456.25), 1e-7);
  EXPECT_EQ(from[0], 1.0f);
}

TEST(COperations, ManyTensorsShareTheirPositions) {
  const Plan plan = plan_of(R"({"method":"xpos","head_dim":4,"layout":"half_split","base":100})");
  std::vector<std::vector<float>> data(11, std::vector<float>(4, 1.0f));
  std::vector<hodo_heads> tensors;
  for (auto& x : data) tensors.push_back(contiguous(x, 1, 1, 1, 4));
  const hodo_positions positions = hodo_positions_range(1000, 1);
  EXPECT_EQ(hodo_rotate(plan.get(), tensors.data(), tensors.size(), &positions, HODO_FORWARD,
                        HODO_ROLE_UNSAID, nullptr),
            HODO_USAGE);
  ASSERT_EQ(hodo_rotate(plan.get(), tensors.data(), tensors.size(), &positions, HODO_FORWARD,
                        HODO_KEY, nullptr),
            HODO_OK);
  for (const auto& x : data) EXPECT_EQ(x, data[0]);
  EXPECT_NEAR(data[0][0],
              (std::cos(1000.0) - std::sin(1000.0)) * std::pow(0.4 / 1.4, -1000.0 / 512), 1e-5);
}

TEST(COperations, RowsAreAdded) {
  const Plan sines = plan_of(R"({"method":"sinusoidal","dim":2,"layout":"halves"})");
  std::vector<float> x(2, 1.0f);
  const hodo_embeddings view{x.data(), HODO_FLOAT32, 1, 1, 2, 2, 2};
  hodo_positions positions = hodo_positions_range(99, 1);
  ASSERT_EQ(hodo_rows_add(sines.get(), &view, &positions, nullptr, nullptr), HODO_OK);
  EXPECT_NEAR(x[0], 1 + std::sin(99.0), 1e-6);

  const Plan learned = plan_of(R"({"method":"learned","max_position_embeddings":3,"dim":2})");
  const std::array<float, 6> rows{0, 0, 1, 1, 2, 2};
  const hodo_learned_table table{rows.data(), 3, 2, 2};
  EXPECT_EQ(hodo_rows_add(learned.get(), &view, &positions, &table, nullptr), HODO_LIMIT);
  EXPECT_STREQ(
      hodo_last_error(),
      "add_rows: position 99 (row 0, token 0): the table has 3 rows, 0 to 2; first row used "
      "is 0; longest input 3");
  positions = hodo_positions_range(2, 1);
  x = {0, 0};
  ASSERT_EQ(hodo_rows_add(learned.get(), &view, &positions, &table, nullptr), HODO_OK);
  EXPECT_EQ(x[1], 2.0f);
}

TEST(COperations, TablesAndBiasRows) {
  const Plan plan = plan_of(R"({"method":"rotary","head_dim":4,"layout":"half_split","base":100})");
  std::array<float, 6> cos{}, sin{};
  const std::array<int64_t, 3> ids{5, 70000, 2147483647};
  const hodo_positions positions = hodo_positions_ids(ids.data(), 1, 1, 3);
  ASSERT_EQ(
      hodo_table_make(plan.get(), &positions, 3, HODO_ROLE_UNSAID, cos.data(), sin.data(), nullptr),
      HODO_OK);
  EXPECT_NEAR(sin[4], std::sin(2147483647.0), 1e-7);
  EXPECT_EQ(hodo_table_make(plan.get(), &positions, INT64_MAX, HODO_ROLE_UNSAID, cos.data(),
                            sin.data(), nullptr),
            HODO_USAGE);

  const Plan alibi = plan_of(R"({"method":"alibi","num_heads":2})");
  const std::array<int64_t, 2> keys{0, 7};
  std::array<float, 4> bias{};
  const int64_t query = 7;
  ASSERT_EQ(hodo_bias_rows(alibi.get(), nullptr, 0, &query, 1, keys.data(), 2, bias.data(), 4),
            HODO_OK);
  EXPECT_EQ(bias, (std::array<float, 4>{-7.0f / 16, 0, -7.0f / 256, 0}));
  EXPECT_EQ(hodo_bias_rows(alibi.get(), nullptr, 0, &query, 1, keys.data(), 2, bias.data(), 3),
            HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_bias_rows: bias_size is 3: expected 4");
}

TEST(COperations, WhatIsMissingIsNamed) {
  const Plan plan = plan_of(R"({"method":"rotary","head_dim":4,"layout":"half_split","base":100})");
  std::vector<float> x(4, 1.0f);
  hodo_heads heads = contiguous(x, 1, 1, 1, 4);
  hodo_positions positions = hodo_positions_range(0, 1);
  const auto message = [&](const hodo_plan* p, const hodo_heads* t, const hodo_positions* at) {
    const hodo_status status = hodo_rotate(p, t, 1, at, HODO_FORWARD, HODO_ROLE_UNSAID, nullptr);
    return status == HODO_OK ? "ok" : hodo_last_error();
  };
  EXPECT_STREQ(message(nullptr, &heads, &positions),
               "hodo_rotate: plan is NULL: expected a pointer");
  EXPECT_STREQ(message(plan.get(), nullptr, &positions),
               "hodo_rotate: tensors is NULL: expected a pointer");
  EXPECT_STREQ(message(plan.get(), &heads, nullptr),
               "hodo_rotate: positions is NULL: expected a pointer");
  heads.dtype = static_cast<hodo_dtype>(3);
  EXPECT_STREQ(message(plan.get(), &heads, &positions), "hodo_rotate: dtype is 3: expected 0 to 2");
  heads.dtype = HODO_FLOAT32;
  positions.kind = static_cast<hodo_position_kind>(4);
  EXPECT_STREQ(message(plan.get(), &heads, &positions),
               "hodo_rotate: the kind of the positions is 4: expected 0 to 3");
}

TEST(COperations, EnumsAreNamedAsTheyCameIn) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":4,"layout":"interleaved","base":100})");
  std::vector<float> x(4);
  const hodo_heads heads = contiguous(x, 1, 1, 1, 4);
  const hodo_positions positions = hodo_positions_range(0, 1);
  EXPECT_EQ(hodo_rotate(plan.get(), &heads, 1, &positions, HODO_FORWARD, static_cast<hodo_role>(7),
                        nullptr),
            HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_rotate: role is 7: expected 0 to 2");
}

// Sizes that are no work must not become work.
TEST(COperations, EmptyTensorsOfAnySizeReturnAtOnce) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":4,"layout":"interleaved","base":100})");
  const hodo_positions positions = hodo_positions_range(0, 1);
  for (const auto& [batch, length, number] :
       {std::array<int64_t, 3>{int64_t{1} << 40, int64_t{1} << 20, 0},
        {1, int64_t{1} << 31, 0},
        {0, 5, int64_t{1} << 62}}) {
    const hodo_heads heads = {nullptr, HODO_FLOAT32, batch, length, number, 4, 0, 0, 4};
    EXPECT_EQ(
        hodo_rotate(plan.get(), &heads, 1, &positions, HODO_FORWARD, HODO_ROLE_UNSAID, nullptr),
        HODO_OK)
        << hodo_last_error();
  }
}

// An offset that wraps would read the first position for every sequence.
TEST(COperations, StridesOfPositionsAreChecked) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":4,"layout":"interleaved","base":100})");
  std::vector<float> x(3 * 4);
  const hodo_heads heads = contiguous(x, 3, 1, 1, 4);
  const int64_t id = 5;
  hodo_positions positions = hodo_positions_ids(&id, 1, 3, 1);
  positions.batch_stride = int64_t{1} << 62;
  EXPECT_EQ(hodo_rotate(plan.get(), &heads, 1, &positions, HODO_FORWARD, HODO_ROLE_UNSAID, nullptr),
            HODO_USAGE);
}

}  // namespace
