#include "hodometer/ops/make_table.h"

#include <fmt/format.h>

#include <limits>

#include "hodometer/kernels/make_table.h"
#include "hodometer/ops/decay-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

using internal::TokenRun;

/// One call: everything checked, nothing owned.
struct Table {
  const Plan& plan;
  const PositionView& positions;
  int64_t row_stride;
  float* cos;
  float* sin;

  void fill(const RotationPlan& rotation, const TokenRun& run, int64_t begin, int64_t pairs,
            int64_t column, const float* decay) const {
    AngleRows rows = internal::angle_rows(rotation.angles, plan.angle_mode, begin, pairs);
    rows.tokens = run.count;
    rows.positions = internal::positions_of(positions, run);
    rows.axes = rotation.axis.empty() ? nullptr : rotation.axis.data() + begin;
    rows.magnitude = static_cast<float>(rotation.magnitude);
    rows.decay = decay;
    rows.decay_stride = pairs;
    const int64_t at = run.token * row_stride + column + begin;
    hodometer::make_table(rows, cos + at, sin + at, row_stride);
  }

  void fill_all(const TokenRun& run, double sign) const {
    int64_t column = 0;
    for (const RotationPlan& rotation : plan.rotations) {
      if (rotation.decay) {
        internal::for_each_decay_tile(
            rotation, positions, run, sign,
            [&](const TokenRun& tile, int64_t begin, int64_t pairs, const float* decay) {
              fill(rotation, tile, begin, pairs, column, decay);
            });
      } else {
        fill(rotation, run, 0, rotation.num_pairs(), column, nullptr);
      }
      column += rotation.num_pairs();
    }
  }
};

}  // namespace

int64_t table_pairs(const Plan& plan) {
  int64_t pairs = 0;
  for (const RotationPlan& rotation : plan.rotations) pairs += rotation.num_pairs();
  return pairs;
}

Status make_table(const Plan& plan, const PositionView& positions, int64_t length,
                  std::span<float> cos, std::span<float> sin, const std::optional<HeadRole>& role,
                  Executor& executor) {
  const int64_t pairs = table_pairs(plan);
  int64_t size = 0;
  if (length < 0 || __builtin_mul_overflow(length, pairs, &size) ||
      cos.size() != static_cast<size_t>(size) || sin.size() != cos.size()) {
    return Error{ErrorKind::usage,
                 fmt::format("make_table: cos has {} elements and sin {}: expected {} positions of "
                             "{} pairs",
                             cos.size(), sin.size(), length, pairs)};
  }
  HODO_RETURN_IF_ERROR(internal::check_positions("make_table", plan, positions, 1, length));
  HODO_RETURN_IF_ERROR(internal::check_decay("make_table", plan, positions, role, 1, length));
  if (size == 0) return {};
  const Table table{plan, positions, pairs, cos.data(), sin.data()};
  const double sign = role == HeadRole::key ? -1.0 : 1.0;
  internal::for_each_run(1, length, pairs * 2 * int64_t{sizeof(float)},
                         std::numeric_limits<int64_t>::max(), executor,
                         [&](const TokenRun& run) { table.fill_all(run, sign); });
  return {};
}

}  // namespace hodometer
