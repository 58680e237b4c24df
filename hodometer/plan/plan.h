#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "hodometer/base/pair_layout.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"
#include "hodometer/methods/position_spec.h"

namespace hodometer {

/// How an angle is computed.
enum class AngleMode : uint8_t {
  /// From the 64-bit phase: cos and sin within 6e-8 of the truth at every position below 2^31.
  exact,
  /// float32 inverse frequency, float32 product, cos and sin of that, for those who must match
  /// Hugging Face: its arithmetic, with frequencies rounded once where its power is some ulp off.
  /// Off by up to 3e-4 at position 4095 and 7e-2 at a million (docs/accuracy.md).
  float32,
};
constexpr auto enum_names(AngleMode) {
  return std::array<std::pair<AngleMode, std::string_view>, 2>{
      {{AngleMode::exact, "exact"}, {AngleMode::float32, "float32"}}};
}

/// Largest position that the exact angles are promised for; larger ones are refused.
inline constexpr int64_t max_position = (int64_t{1} << 31) - 1;

/// Frequencies made ready for the kernels, one element per pair.
struct AnglePlan {
  std::vector<uint64_t> step = {};           ///< phase per position, in 2^-64 turns
  std::vector<float> inv_freq_float32 = {};  ///< radians per position, for AngleMode::float32
  std::vector<double> turns = {};            ///< turns per position, for fractional positions
};

/// A RotatePairs made ready.
struct RotationPlan {
  int64_t head_dim = 0;
  int64_t rotary_dim = 0;
  int64_t rotary_start = 0;
  PairLayout layout = PairLayout::half_split;
  AnglePlan angles;
  std::vector<uint8_t> axis = {};  ///< empty: every pair reads axis 0
  int64_t num_axes = 1;
  double magnitude = 1;
  std::optional<Decay> decay = {};

  int64_t num_pairs() const { return rotary_dim / 2; }
};

/// An AddRow made ready. `angles` is empty when the rows are learned.
struct RowPlan {
  AddRow row;
  AnglePlan angles;
};

/// A spec made ready to apply: a pure function of the spec, the length and the angle mode, and the
/// only place where double becomes float. Immutable; share it between threads and layers.
struct Plan {
  PositionSpec spec;
  int64_t context_length = 0;
  AngleMode angle_mode = AngleMode::exact;

  std::vector<RotationPlan> rotations = {};
  std::optional<RowPlan> row = {};
  std::optional<DistanceBias> distance_bias = {};
  std::optional<QueryTableBias> query_table_bias = {};
  std::vector<LogitScale> logit_scales = {};

  /// The width of the heads that rotations turn; 0 when nothing rotates.
  int64_t head_dim() const { return rotations.empty() ? 0 : rotations.front().head_dim; }
  /// How many numbers a position has; more than 1 only for rotations over several axes.
  int64_t num_axes() const { return rotations.empty() ? 1 : rotations.front().num_axes; }
  /// What the scores of a query are multiplied by, on top of 1/sqrt(head_dim).
  double logit_scale_at(int64_t query_position) const;
};

/// Makes a plan. `context_length` is the largest position + 1 of the sequence that it will serve;
/// only schedules that look at the length read it. Errors as check(spec), and a length outside
/// 1 to 2^31.
Result<Plan> make_plan(const PositionSpec& spec, int64_t context_length,
                       AngleMode angle_mode = AngleMode::exact);

}  // namespace hodometer
