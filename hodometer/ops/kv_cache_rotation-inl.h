#pragma once

// Private: from how a key is turned to how it should be. Not installed.

#include <cstdint>
#include <string_view>

#include "hodometer/base/result.h"
#include "hodometer/plan/plan.h"

namespace hodometer::internal {

/// By what a key is turned.
struct KeyTurn {
  const Plan* plan = nullptr;
  const int64_t* positions = nullptr;  ///< [plan->num_axes()]
};

/// Whether two plans turn keys by the same frequencies, magnitudes and lanes.
bool same_rotations(const Plan& a, const Plan& b);

/// That keys turned by `from` can be turned on to `to`: the same method, head_dim, lanes, layout
/// and axes. Errors name what differs.
Status check_same_lanes(std::string_view operation, const Plan& from, const Plan& to);

/// That no pair's factor on the way leaves float32's range. Can fail for xPos only, unless
/// magnitudes are out of all proportion. Plans as check_same_lanes() wants them.
Status check_way(std::string_view operation, const KeyTurn& from, const KeyTurn& to);

/// Turns float32 rows of head_dim lanes, one after the other, that are turned by `from`, so that
/// they are turned by `to`: one rotation by the difference of the phases, which is exact in 64
/// bits, and one factor. Error as rotate_pairs(); in AngleMode::float32 the difference is that of
/// the float32 angles, within 2^-64 of a turn. Everything was checked before.
void turn_on(const KeyTurn& from, const KeyTurn& to, float* rows, int64_t count);

}  // namespace hodometer::internal
