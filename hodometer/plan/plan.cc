#include "hodometer/plan/plan.h"

#include <fmt/format.h>

#include "hodometer/plan/phase.h"

namespace hodometer {
namespace {

AnglePlan plan_angles(const std::vector<Real>& inv_freq) {
  AnglePlan angles;
  for (const Real& w : inv_freq) {
    angles.step.push_back(phase_step(w));
    angles.turns.push_back((w / (pi * 2.0)).to_double());
    angles.inv_freq_float32.push_back(static_cast<float>(w.to_double()));
  }
  return angles;
}

void add(const AddRow& row, Plan& plan) {
  plan.row = RowPlan{row, row.sinusoid ? plan_angles(row.sinusoid->inv_freq) : AnglePlan{}};
}

void add(const RotatePairs& rotation, Plan& plan) {
  plan.rotations.push_back({rotation.head_dim, rotation.rotary_dim, rotation.rotary_start,
                            rotation.layout, plan_angles(rotation.inv_freq), rotation.axis,
                            rotation.num_axes, rotation.magnitude, rotation.decay});
}

void add(const DistanceBias& bias, Plan& plan) { plan.distance_bias = bias; }

void add(const QueryTableBias& bias, Plan& plan) { plan.query_table_bias = bias; }

void add(const LogitScale& scale, Plan& plan) { plan.logit_scales.push_back(scale); }

}  // namespace

double Plan::logit_scale_at(int64_t query_position) const {
  double scale = 1;
  for (const LogitScale& one : logit_scales) scale *= one.at(query_position);
  return scale;
}

Result<Plan> make_plan(const PositionSpec& spec, int64_t context_length, AngleMode angle_mode) {
  if (context_length < 1 || context_length > max_position + 1) {
    return Error{ErrorKind::usage, fmt::format("make_plan: context_length is {}: expected 1 to {}",
                                               context_length, max_position + 1)};
  }
  HODO_ASSIGN(const std::vector<Action> list, actions(spec, context_length));
  Plan plan{spec, context_length, angle_mode, {}, {}, {}, {}, {}};
  for (const Action& action : list) {
    std::visit([&](const auto& one) { add(one, plan); }, action);
  }
  return plan;
}

}  // namespace hodometer
