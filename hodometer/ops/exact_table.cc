#include "hodometer/ops/exact_table.h"

#include <fmt/format.h>

#include <cmath>

#include "hodometer/ops/decay-inl.h"
#include "hodometer/ops/make_table.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

/// Like bias_rows(), this is for people to read: 2^27 numbers are more than anyone does.
constexpr int64_t most_values = int64_t{1} << 27;

}  // namespace

CosSin exact_cos_sin(Real inv_freq, double position) {
  const Real turn = pi * 2.0;
  const Real angle = inv_freq * position;
  const Real rest = angle - floor(angle / turn + 0.5) * turn;
  // First order in the low half, which is below 2^-51.
  const double c = std::cos(rest.to_double());
  const double s = std::sin(rest.to_double());
  return {c - s * rest.low(), s + c * rest.low()};
}

Result<ExactTable> exact_table(const Plan& plan, const PositionView& positions, int64_t length,
                               const std::optional<HeadRole>& role) {
  const int64_t pairs = table_pairs(plan);
  if (length < 0 || (pairs > 0 && length > most_values / pairs)) {
    return Error{ErrorKind::usage,
                 fmt::format("exact_table: {} positions of {} pairs: expected at most {} values",
                             length, pairs, most_values)};
  }
  HODO_RETURN_IF_ERROR(internal::check_positions("exact_table", plan, positions, 1, length));
  HODO_RETURN_IF_ERROR(internal::check_decay("exact_table", plan, positions, role, 1, length));
  HODO_ASSIGN(const std::vector<Action> list, actions(plan.spec, plan.context_length));
  const double sign = role == HeadRole::key ? -1.0 : 1.0;

  ExactTable table{length, pairs, {}, {}};
  table.cos.reserve(static_cast<size_t>(length * pairs));
  table.sin.reserve(static_cast<size_t>(length * pairs));
  for (int64_t i = 0; i < length; ++i) {
    for (const Action& action : list) {
      const auto* rotation = std::get_if<RotatePairs>(&action);
      if (rotation == nullptr) continue;
      for (size_t j = 0; j < rotation->inv_freq.size(); ++j) {
        const int64_t axis = rotation->axis.empty() ? 0 : rotation->axis[j];
        const double position = internal::position_at(positions, axis, 0, i);
        const CosSin one = exact_cos_sin(rotation->inv_freq[j], position);
        const double magnitude =
            rotation->decay
                ? rotation->magnitude * internal::decay_factor(*rotation->decay, j, position, sign)
                : rotation->magnitude;
        table.cos.push_back(magnitude * one.cos);
        table.sin.push_back(magnitude * one.sin);
      }
    }
  }
  return table;
}

}  // namespace hodometer
