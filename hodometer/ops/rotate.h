#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodometer/base/parallel.h"
#include "hodometer/base/result.h"
#include "hodometer/base/tensor_view.h"
#include "hodometer/kernels/rotate_pairs.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/position_view.h"

namespace hodometer {

/// Which side of the score heads are on.
enum class HeadRole : uint8_t { query, key };

struct RotateOptions {
  /// inverse undoes forward: the negated angles, and the reciprocals of magnitude and decay.
  /// transpose takes gradients back: the negated angles, and magnitude and decay as they are.
  Direction direction = Direction::forward;
  /// Read, and then needed, only when the plan has a decay (xPos): queries grow where keys shrink.
  std::optional<HeadRole> role = {};
};

/// Turns the heads of every tensor in place, by the positions of their tokens.
///
/// All tensors have the same batch and length, and may differ in heads, dtype and strides: q and k
/// of one layer make each row of cosines and sines once. Lanes that the plan does not turn are left
/// alone; a plan without rotations (ALiBi, NoPE) leaves everything alone. Arithmetic is float32
/// with one rounding on store; bounds are in kernels/angle_rows.h and kernels/rotate_pairs.h.
///
/// Positions are whole numbers from -(2^31 - 1) to 2^31 - 1 (negative ones shift keys of a cache
/// back), or finite numbers of that size. When the plan's schedule changes with the length, those
/// at or beyond the larger of plan.context_length and the trained length are refused: the plan
/// would turn them by frequencies that belong to a shorter sequence.
///
/// Results do not depend on the executor. On failure nothing has been written. Never allocates
/// unless it fails, beside what the executor does. Writing to one place through overlapping heads
/// is undefined.
///
/// Errors: heads of another width than the plan's, tensors of different batch or length, no data,
/// negative sizes, extents beyond 2^63 bytes, positions of another shape, with another number of
/// axes than the plan (say PositionView::same_on_axes for text) or out of range.
Status rotate(const Plan& plan, std::span<const HeadsView> tensors, const PositionView& positions,
              const RotateOptions& options = {}, Executor& executor = serial_executor());

/// The same for one tensor.
Status rotate(const Plan& plan, const HeadsView& heads, const PositionView& positions,
              const RotateOptions& options = {}, Executor& executor = serial_executor());

/// Reads `from` and writes every lane of `to`: turned, or copied where the plan does not turn.
/// Equal shapes and dtypes, any strides; they must not overlap. Otherwise as rotate().
Status rotate_to(const Plan& plan, const HeadsView& from, const HeadsView& to,
                 const PositionView& positions, const RotateOptions& options = {},
                 Executor& executor = serial_executor());

}  // namespace hodometer
