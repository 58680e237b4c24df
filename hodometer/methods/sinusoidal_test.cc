#include "hodometer/methods/sinusoidal.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "hodometer/methods/shared_test.h"

namespace hodometer {
namespace {

using testing::action_of;
using testing::refusal;

std::vector<double> row_of(const std::string& members, int64_t position) {
  return testing::sinusoid_row(action_of<AddRow>(R"({"method":"sinusoidal",)" + members + "}"),
                               position);
}

void expect_row(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 5e-7) << i;
}

TEST(Sinusoidal, ThreeLayoutsAtWidthEight) {
  expect_row(row_of(R"("dim":8,"layout":"interleaved")", 1),
             {.841471, .540302, .099833, .995004, .01, .99995, .001, 1});
  expect_row(row_of(R"("dim":8,"layout":"halves")", 1),
             {.841471, .099833, .01, .001, .540302, .995004, .99995, 1});
  expect_row(row_of(R"("dim":8,"layout":"halves_endpoint")", 1),
             {.841471, .046399, .002154, .0001, .540302, .998923, .999998, 1});
}

// Odd widths crash in at least five public projects; here the last sine has no cosine.
TEST(Sinusoidal, OddWidths) {
  expect_row(row_of(R"("dim":5,"layout":"interleaved")", 1),
             {0.841471, 0.540302, 0.025116, 0.999685, 0.000631});
  expect_row(row_of(R"("dim":5,"layout":"halves")", 1),
             {0.841471, 0.025116, 0.000631, 0.540302, 0.999685});
  EXPECT_EQ(row_of(R"("dim":5,"layout":"halves_endpoint")", 1).back(), 0.0);
  EXPECT_EQ(row_of(R"("dim":2,"layout":"halves_endpoint")", 1).size(), 2u);
  EXPECT_EQ(row_of(R"("dim":1,"layout":"interleaved")", 1).size(), 1u);
}

// A pair shares a frequency, so products of rows depend on the distance alone.
TEST(Sinusoidal, GramMatrixIsToeplitz) {
  for (const char* layout : {"interleaved", "halves", "halves_endpoint"}) {
    const std::string members = fmt::format(R"("dim":64,"layout":"{}")", layout);
    const auto dot = [&](int64_t m, int64_t n) {
      const auto a = row_of(members, m), b = row_of(members, n);
      double sum = 0;
      for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
      return sum;
    };
    for (int64_t shift : {1, 17, 4096}) EXPECT_NEAR(dot(3, 10), dot(3 + shift, 10 + shift), 1e-9);
  }
}

TEST(Sinusoidal, AgreesWithHuggingFace) {
  const std::map<std::string, std::string> members = {
      {"marian", R"("layout":"halves")"},
      {"pegasus", R"("layout":"halves")"},
      {"xlm", R"("layout":"interleaved")"},
      {"whisper", R"("layout":"halves_endpoint")"},
      {"m2m_100", R"("layout":"halves_endpoint","offset":2,"padding_idx":1)"},
      {"musicgen", R"("layout":"halves_endpoint","lane_order":"cosine_first")"}};
  for (const Json& one : testing::golden("hf_bias.json").at("sinusoidal")) {
    const std::string spec = fmt::format(R"("dim":{},{})", one["dim"].get<int64_t>(),
                                         members.at(one["source"].get<std::string>()));
    for (size_t p = 0; p < one["positions"].size(); ++p) {
      const auto got = row_of(spec, one["positions"][p]);
      for (size_t lane = 0; lane < got.size(); ++lane) {
        // Their angle is one float32 product: position * 1.2e-7.
        EXPECT_NEAR(got[lane], one["rows"][p][lane].get<double>(),
                    1.2e-7 * (1 + one["positions"][p].get<double>()))
            << one["source"] << " " << spec << " position " << one["positions"][p];
      }
    }
  }
}

TEST(Sinusoidal, RefusesWhatHasNoValue) {
  EXPECT_NE(refusal(R"({"method":"sinusoidal","dim":0,"layout":"halves"})"), "accepted");
  EXPECT_NE(refusal(R"({"method":"sinusoidal","dim":5,"layout":"halves",
                        "lane_order":"cosine_first"})"),
            "accepted");
}

// Odd columns use the exponent of the even column before them: a pair shares a frequency.
TEST(Sinusoidal, ColumnsOfAPairShareTheirFrequency) {
  for (int64_t position : {1, 7, 1000}) {
    const auto row = row_of(R"("dim":8,"layout":"interleaved")", position);
    for (size_t i = 0; i < 4; ++i) {
      const double angle =
          static_cast<double>(position) * std::pow(1e4, -2 * static_cast<double>(i) / 8);
      EXPECT_NEAR(row[2 * i], std::sin(angle), 1e-12) << i;
      EXPECT_NEAR(row[2 * i + 1], std::cos(angle), 1e-12) << i;
    }
  }
}

// Wrong frequencies make a Gram matrix that is not banded.
TEST(Sinusoidal, GramMatrixOfSixtyFourIsConstantAlongDiagonals) {
  std::vector<std::vector<double>> rows;
  for (int64_t position = 0; position < 64; ++position) {
    rows.push_back(row_of(R"("dim":64,"layout":"interleaved")", position));
  }
  const auto dot = [&](size_t m, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < 64; ++i) sum += rows[m][i] * rows[n][i];
    return sum;
  };
  for (size_t distance = 0; distance < 64; ++distance) {
    for (size_t m = 0; m + distance < 64; ++m) {
      ASSERT_NEAR(dot(m, m + distance), dot(0, distance), 1e-11) << m << " " << distance;
    }
  }
}

}  // namespace
}  // namespace hodometer
