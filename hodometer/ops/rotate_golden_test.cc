// Rotated vectors against those of Hugging Face's own functions: layouts, partial heads, latent
// attention, M-RoPE and axial heads, from tests/golden/hf_rotate.json.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hodometer/ops/rotate.h"
#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using nlohmann::json;
using Ids = std::vector<int64_t>;

std::vector<float> flat(const json& lists) {
  std::vector<float> values;
  for (const json& heads : lists) {
    for (const json& head : heads) {
      for (const json& value : head) values.push_back(value.get<float>());
    }
  }
  return values;
}

/// The positions of a case, [axes, tokens].
std::vector<Ids> axes_of(const json& one) {
  if (one["positions"][0].is_array()) return one["positions"].get<std::vector<Ids>>();
  return {one["positions"].get<Ids>()};
}

/// `layout` says where Hugging Face leaves the pairs when that is not where it took them from: pair
/// i in lanes i and i + pairs.
void to_layout(const json& layout, int64_t width, std::vector<float>& values) {
  if (layout.is_null()) return;
  ASSERT_EQ(layout, "half_split");
  const std::vector<float> interleaved = values;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t lane = i % static_cast<size_t>(width);
    const size_t half = static_cast<size_t>(width) / 2;
    values[i] = interleaved[i - lane + (lane < half ? 2 * lane : 2 * (lane - half) + 1)];
  }
}

void compare(const json& one) {
  SCOPED_TRACE(one["name"].get<std::string>());
  const std::vector<Ids> axes = axes_of(one);
  const auto tokens = static_cast<int64_t>(axes.front().size());
  const auto heads = static_cast<int64_t>(one["x"][0].size());
  const auto width = static_cast<int64_t>(one["x"][0][0].size());
  const Plan plan = testing::plan_of(one["spec"].dump(), 16384);
  Ids ids;
  for (const Ids& axis : axes) ids.insert(ids.end(), axis.begin(), axis.end());

  std::vector<float> got = flat(one["x"]);
  const float size = std::fabs(*std::max_element(
      got.begin(), got.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
  const Status status =
      rotate(plan, HeadsView::bshd(got.data(), DType::float32, 1, tokens, heads, width),
             axes.size() == 1 ? PositionView::shared_ids(ids)
                              : PositionView::axes(ids.data(), std::ssize(axes), 1, tokens));
  ASSERT_TRUE(status.ok()) << status.error().message;
  if (one.contains("y_layout")) to_layout(one["y_layout"], width, got);

  const std::vector<float> want = flat(one["y"]);
  ASSERT_EQ(got.size(), want.size());
  for (int64_t token = 0; token < tokens; ++token) {
    int64_t farthest = 0;
    for (const Ids& axis : axes) farthest = std::max(farthest, axis[static_cast<size_t>(token)]);
    // Its angles are float32 products; see tests/golden/README.md.
    const double tolerance = (1.2e-7 * static_cast<double>(farthest) + 1e-6) * size;
    for (int64_t i = 0; i < heads * width; ++i) {
      const auto at = static_cast<size_t>(token * heads * width + i);
      ASSERT_NEAR(got[at], want[at], tolerance)
          << "token " << token << ", head " << i / width << ", lane " << i % width;
    }
  }
}

// Fault: a wrong pairing, start, section or axis, which leaves every length as it was.
TEST(Rotate, AgreesWithHuggingFace) {
  std::ifstream file(HODO_GOLDEN_DIR "/hf_rotate.json");
  const json cases = json::parse(file)["cases"];
  EXPECT_GE(cases.size(), 25U);
  for (const json& one : cases) compare(one);
}

}  // namespace
}  // namespace hodometer
