#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodometer/base/pair_layout.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/position_spec.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/plan/plan.h"

namespace hodometer {

/// At which positions and how the numbers of a method are computed.
struct NumbersRequest {
  /// A list per axis, all of one length; one list serves every axis, as for text. T5's buckets take
  /// them as distances (query - key).
  std::vector<std::vector<int64_t>> positions = {};
  /// For schedules that look at the length; absent: the largest position + 1.
  std::optional<int64_t> context_length = {};
  AngleMode angles = AngleMode::exact;
  /// Side of the score for a method whose magnitude differs there (xPos).
  HeadRole role = HeadRole::query;
};

/// The pairs of a head: which lanes turn together, how fast, by which axis.
struct PairNumbers {
  PairLayout layout = PairLayout::half_split;
  int64_t head_dim = 0;
  int64_t rotary_dim = 0;    ///< lanes that turn, of all rotations together
  int64_t rotary_start = 0;  ///< first of them
  int64_t num_axes = 1;
  std::vector<std::array<int64_t, 2>> lanes = {};  ///< of each pair
  std::vector<int64_t> axis = {};                  ///< of each pair; empty with one axis
  double attention_factor = 1;                     ///< multiplies cos and sin
};

/// Everything that a method computes, as numbers. Members that do not apply are empty.
struct MethodNumbers {
  std::optional<PairNumbers> pairs = {};
  std::vector<double> inv_freq = {};    ///< radians per position, of each pair or sinusoid
  std::vector<double> wavelength = {};  ///< positions per turn; infinite where nothing turns
  std::vector<double> cos = {};         ///< [positions, pairs], the attention factor included
  std::vector<double> sin = {};
  std::vector<double> rows = {};           ///< [positions, dim] of a sinusoidal embedding
  std::vector<int64_t> row_indices = {};   ///< of a learned table, one per position
  std::optional<int64_t> dim = {};         ///< width of a row
  std::optional<int64_t> num_rows = {};    ///< of the learned table
  std::vector<double> slopes = {};         ///< one per head
  std::vector<int64_t> buckets = {};       ///< of each position, taken as a distance
  std::vector<int64_t> clipped_rows = {};  ///< Shaw: of each position, taken as a distance
  std::vector<double> logit_scale = {};    ///< of each position as a query; empty when constant
  double softmax_factor = 1;               ///< multiplies every score on top of 1/sqrt(head_dim)
  /// What the frequencies were computed for; absent when they do not depend on the length.
  std::optional<int64_t> context_length = {};
};

/// Computes the numbers. Exact angles give double precision; float32 angles the float32 values.
/// Errors: as make_plan() and make_table(), a position without a row, a distance to look up beyond
/// +-max_position, axes that the method does not have, and more than 2^24 numbers.
Result<MethodNumbers> method_numbers(const PositionSpec& spec, const NumbersRequest& request);

/// The frequency schedule of a method that has one.
const FrequencySchedule* frequency_schedule(const PositionSpec& spec);

/// 2 pi / inv_freq, in positions; infinite for a pair that does not turn.
double wavelength(double inv_freq);

}  // namespace hodometer
