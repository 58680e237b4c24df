#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodometer/base/parallel.h"
#include "hodometer/base/result.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/position_view.h"

namespace hodometer {

/// Pairs in a row of the table: those of all rotations of the plan.
int64_t table_pairs(const Plan& plan);

/// The classic cache: cos and sin of shape [length, table_pairs(plan)], contiguous, in the plan's
/// angle mode and with its magnitude folded in: bit for bit the rows that rotate() uses. The
/// positions are those of one sequence (a batch of 1). A plan with several rotations puts their
/// pairs side by side; one without any has an empty table.
///
/// Errors: spans of another size; positions as in rotate(); a decay (xPos) without `role`.
Status make_table(const Plan& plan, const PositionView& positions, int64_t length,
                  std::span<float> cos, std::span<float> sin,
                  const std::optional<HeadRole>& role = std::nullopt,
                  Executor& executor = serial_executor());

}  // namespace hodometer
