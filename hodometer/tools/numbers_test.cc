#include "hodometer/tools/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace hodometer {
namespace {

MethodNumbers numbers_of(const std::string& spec, const NumbersRequest& request = {}) {
  const Result<PositionSpec> parsed = parse_spec(spec);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  if (!parsed.ok()) return {};
  const Result<MethodNumbers> numbers = method_numbers(*parsed, request);
  EXPECT_TRUE(numbers.ok()) << (numbers.ok() ? "" : numbers.error().message);
  return numbers.ok() ? *numbers : MethodNumbers{};
}

std::string failure_of(const std::string& spec, const NumbersRequest& request) {
  const Result<MethodNumbers> numbers = method_numbers(parse_spec(spec).value(), request);
  return numbers.ok() ? "accepted" : numbers.error().message;
}

constexpr const char* plain =
    R"({"method":"rotary","head_dim":4,"layout":"interleaved","base":10000})";

TEST(Numbers, LanesFollowTheLayoutAndTheStart) {
  const MethodNumbers numbers = numbers_of(
      R"({"method":"rotary","head_dim":12,"rotary_dim":4,"rotary_start":8,"layout":"half_split",
          "base":10000})");
  ASSERT_TRUE(numbers.pairs);
  EXPECT_EQ(numbers.pairs->lanes, (std::vector<std::array<int64_t, 2>>{{8, 10}, {9, 11}}));
  EXPECT_EQ(numbers.pairs->head_dim, 12);
  EXPECT_EQ(numbers_of(plain).pairs->lanes, (std::vector<std::array<int64_t, 2>>{{0, 1}, {2, 3}}));
}

TEST(Numbers, EveryLaneOfAnAxialHeadHasOnePair) {
  for (const char* axis_layout : {"blocks", "alternating", "alternating_per_axis", "parts"}) {
    const MethodNumbers numbers = numbers_of(
        std::string(R"({"method":"axial_rotary","head_dim":16,"layout":"half_split","base":100,)") +
            ("\"axis_layout\":\"" + std::string(axis_layout)) + "\"}",
        {.positions = {{3, 5}, {7, 7}}});
    ASSERT_TRUE(numbers.pairs);
    std::vector<int> seen(16);
    for (const auto& [x, y] : numbers.pairs->lanes) {
      ++seen[static_cast<size_t>(x)];
      ++seen[static_cast<size_t>(y)];
    }
    EXPECT_EQ(seen, std::vector<int>(16, 1)) << axis_layout;
    ASSERT_EQ(numbers.pairs->axis.size(), 8U);
    for (size_t i = 0; i < 8; ++i) {
      const double position = numbers.pairs->axis[i] == 0 ? 5 : 7;
      EXPECT_NEAR(numbers.cos[8 + i], std::cos(position * numbers.inv_freq[i]), 1e-15);
    }
  }
}

TEST(Numbers, ExactAnglesAreExactFarAway) {
  const MethodNumbers numbers = numbers_of(plain, {.positions = {{0, 1000000, max_position}}});
  // 2^31 - 1 and (2^31 - 1) / 100 radians, computed with 60 digits.
  EXPECT_NEAR(numbers.cos[4], -0.68883669187794384, 1e-15);
  EXPECT_NEAR(numbers.sin[4], -0.72491655514455639, 1e-15);
  EXPECT_NEAR(numbers.sin[2], std::sin(1e6), 1e-15);
  EXPECT_FALSE(numbers.context_length);
}

TEST(Numbers, Float32AnglesAreFloat32) {
  const MethodNumbers numbers =
      numbers_of(plain, {.positions = {{1000000}}, .angles = AngleMode::float32});
  for (const double value : numbers.cos) EXPECT_EQ(value, double{static_cast<float>(value)});
  EXPECT_EQ(numbers.inv_freq[1], double{0.01F});
  EXPECT_NEAR(numbers.cos[1], std::cos(double{1e6F * 0.01F}), 1e-7);
}

TEST(Numbers, SinusoidsHaveTheirRowsAndPadding) {
  const MethodNumbers numbers = numbers_of(
      R"({"method":"sinusoidal","dim":5,"layout":"halves_endpoint","offset":2,"padding_idx":1})",
      {.positions = {{-1, 7}}});
  ASSERT_EQ(numbers.rows.size(), 10U);
  for (size_t lane = 0; lane < 5; ++lane) EXPECT_EQ(numbers.rows[lane], 0.0);
  EXPECT_NEAR(numbers.rows[5], std::sin(9.0), 1e-15);
  EXPECT_NEAR(numbers.rows[6], std::sin(9.0 / 10000), 1e-15);
  EXPECT_NEAR(numbers.rows[7], std::cos(9.0), 1e-15);
  EXPECT_EQ(numbers.rows[9], 0.0);
}

TEST(Numbers, FrequenciesNeedNoPositions) {
  for (const char* spec : {plain, R"({"method":"sinusoidal","dim":4,"layout":"interleaved"})"}) {
    const MethodNumbers numbers = numbers_of(spec);
    EXPECT_EQ(numbers.inv_freq, (std::vector<double>{1, 0.01}));
    EXPECT_TRUE(numbers.cos.empty());
    EXPECT_TRUE(numbers.rows.empty());
  }
}

TEST(Numbers, SaysWhatItRefuses) {
  NumbersRequest many;
  many.positions = {std::vector<int64_t>(size_t{1} << 23)};
  EXPECT_NE(failure_of(plain, many).find("16777216"), std::string::npos);
  EXPECT_NE(failure_of(plain, {.positions = {{0}, {0}}}).find("2 axes"), std::string::npos);
  EXPECT_NE(failure_of(plain, {.positions = {{max_position + 1}}}).find("2147483648"),
            std::string::npos);
  EXPECT_NE(failure_of(R"({"method":"learned","max_position_embeddings":8,"dim":2})",
                       {.positions = {{8}}})
                .find("0 to 7"),
            std::string::npos);
  // A plan for a short sequence must not turn a far position.
  EXPECT_NE(failure_of(R"({"method":"rotary","head_dim":4,"layout":"half_split","base":10000,
      "schedule":{"rope_type":"dynamic","factor":2,"original_max_position_embeddings":64}})",
                       {.positions = {{100}}, .context_length = 80}),
            "accepted");
}

TEST(Numbers, WavelengthIsATurn) {
  EXPECT_DOUBLE_EQ(wavelength(0.5), 4 * std::acos(-1.0));
  EXPECT_TRUE(std::isinf(wavelength(0)));
}

// Fault: distances looked up that no two positions have, and the negative of the smallest number.
TEST(Numbers, LooksUpNoDistanceBeyondThePositions) {
  for (const char* spec : {R"({"method":"shaw","max_distance":2})",
                           R"({"method":"t5_bias","num_heads":1,"bidirectional":true})"}) {
    for (const int64_t distance : {INT64_MIN, -max_position - 1, max_position + 1, INT64_MAX}) {
      EXPECT_NE(failure_of(spec, {.positions = {{0, distance}}}).find("positions[1] is "),
                std::string::npos);
    }
    EXPECT_EQ(failure_of(spec, {.positions = {{-max_position, max_position}}}), "accepted");
  }
}

// The length is that of the last position, and not where the prompt begins.
TEST(Numbers, LengthIsTheLargestPositionPlusOne) {
  const std::string longrope =
      R"({"method":"rotary","head_dim":4,"layout":"half_split","base":10000,
          "schedule":{"rope_type":"longrope","short_factor":[1,1],"long_factor":[2,8],
          "original_max_position_embeddings":4096,"max_position_embeddings":131072}})";
  const MethodNumbers numbers = numbers_of(longrope, {.positions = {{0, 4999}}});
  EXPECT_EQ(numbers.context_length, 5000);
  EXPECT_DOUBLE_EQ(numbers.inv_freq[1], 0.01 / 8);
  EXPECT_DOUBLE_EQ(numbers_of(longrope, {.positions = {{0, 9}}}).inv_freq[1], 0.01);
}

}  // namespace
}  // namespace hodometer
