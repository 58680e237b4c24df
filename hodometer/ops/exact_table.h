#pragma once

#include <cstdint>
#include <vector>

#include "hodometer/base/real.h"
#include "hodometer/base/result.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/position_view.h"

namespace hodometer {

/// Cosine and sine of an angle.
struct CosSin {
  double cos = 1;
  double sin = 0;
};

/// Of position * inv_freq radians, right to double precision (2e-16) at every position below 2^31:
/// the product and its reduction to one turn are made in double-double.
CosSin exact_cos_sin(Real inv_freq, double position);

/// Double-precision rows for tools and tests, by no kernel.
struct ExactTable {
  int64_t length = 0;
  int64_t pairs = 0;
  std::vector<double> cos;  ///< [length, pairs]
  std::vector<double> sin;
};

/// What make_table() rounds: the same shape, order, magnitude and decay, from the plan's spec and
/// not from its rounded frequencies, whatever the angle mode. Errors as make_table().
Result<ExactTable> exact_table(const Plan& plan, const PositionView& positions, int64_t length,
                               const std::optional<HeadRole>& role = std::nullopt);

}  // namespace hodometer
