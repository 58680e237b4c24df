#pragma once

// Private: what the tests of methods share.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "hodometer/base/json-inl.h"
#include "hodometer/methods/position_spec.h"

namespace hodometer::testing {

/// A golden file, read once; tests/golden/README.md says who made it.
inline const Json& golden(std::string_view file) {
  static std::map<std::string, Json, std::less<>> files;
  const auto [found, is_new] = files.try_emplace(std::string(file));
  if (!is_new) return found->second;
  std::ifstream stream(std::string(HODO_GOLDEN_DIR "/") + found->first);
  std::stringstream text;
  text << stream.rdbuf();
  auto json = parse_json(text.str(), file);
  EXPECT_TRUE(json.ok()) << (json.ok() ? "" : json.error().message);
  if (json.ok()) found->second = std::move(*json);
  return found->second;
}

/// The spec of a text form that must be valid.
inline PositionSpec spec_of(const std::string& text) {
  auto spec = parse_spec(text);
  EXPECT_TRUE(spec.ok()) << text << "\n" << (spec.ok() ? "" : spec.error().message);
  return spec.ok() ? *spec : PositionSpec{};
}

/// The first action of a spec, which must be of that kind.
template <class A>
A action_of(const std::string& text, int64_t context_length = 1) {
  const auto list = actions(spec_of(text), context_length);
  EXPECT_TRUE(list.ok() && !list->empty() && std::holds_alternative<A>(list->front())) << text;
  return list.ok() && !list->empty() ? std::get<A>(list->front()) : A{};
}

/// Why a text form is refused.
inline std::string refusal(const std::string& text) {
  const auto spec = parse_spec(text);
  return spec.ok() ? "accepted" : spec.error().message;
}

/// The row that a sinusoidal action adds, by libm on the double frequency.
inline std::vector<double> sinusoid_row(const AddRow& row, int64_t position) {
  std::vector<double> lanes(static_cast<size_t>(row.dim));
  const SinusoidLanes& sinusoid = *row.sinusoid;
  for (size_t i = 0; i < sinusoid.inv_freq.size(); ++i) {
    const auto lane = static_cast<size_t>(sinusoid.lane_stride) * i;
    const double angle =
        static_cast<double>(position + row.offset) * sinusoid.inv_freq[i].to_double();
    lanes[static_cast<size_t>(sinusoid.sine_start) + lane] = std::sin(angle);
    if (static_cast<int64_t>(i) < sinusoid.num_cosines) {
      lanes[static_cast<size_t>(sinusoid.cosine_start) + lane] = std::cos(angle);
    }
  }
  return lanes;
}

}  // namespace hodometer::testing
