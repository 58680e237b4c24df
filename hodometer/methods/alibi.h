#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

namespace hodometer {

/// How slopes go on when the number of heads is no power of two. The paper's text and its code
/// differ, and models were trained with the code.
enum class SlopeSeries : uint8_t {
  two_series,  ///< the largest power of two, then every other slope of twice as many heads
  one_series,  ///< a single geometric series over all heads
};
constexpr auto enum_names(SlopeSeries) {
  return std::array<std::pair<SlopeSeries, std::string_view>, 2>{
      {{SlopeSeries::two_series, "two_series"}, {SlopeSeries::one_series, "one_series"}}};
}

/// A penalty that grows linearly with the distance: bias = -slope |query - key|, always in the
/// relative form. Source: Press, Smith and Lewis 2022, section 3, and their code for head counts
/// that are no power of two.
struct Alibi {
  std::optional<int64_t> num_heads = {};
  double alibi_bias_max = 8;
  SlopeSeries slope_series = SlopeSeries::two_series;
  std::optional<std::vector<double>> slopes = {};

  static constexpr std::string_view name = "alibi";
  static constexpr auto fields() {
    return std::tuple{
        optional("num_heads", &Alibi::num_heads, "heads", "needed unless slopes are given"),
        optional("alibi_bias_max", &Alibi::alibi_bias_max, "",
                 "the last of a power of two of heads has slope 2^-alibi_bias_max"),
        optional("slope_series", &Alibi::slope_series, "",
                 "how slopes go on when num_heads is no power of two"),
        optional("slopes", &Alibi::slopes, "per position",
                 "one per head, in place of the computed ones")};
  }
};

Status check(const Alibi& spec);
std::vector<Action> actions(const Alibi& spec, int64_t context_length);

/// The slope of each of num_heads heads.
std::vector<double> alibi_slopes(int64_t num_heads, double alibi_bias_max, SlopeSeries series);

}  // namespace hodometer
