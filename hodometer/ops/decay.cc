#include <fmt/format.h>

#include "hodometer/ops/decay-inl.h"

namespace hodometer::internal {
namespace {

/// exp(87) and exp(-87) are normal float32 numbers.
constexpr double largest_exponent = 87;

}  // namespace

double decay_factor(const Decay& decay, size_t pair, double position, double sign) {
  return std::exp(sign * decay.log_zeta[pair] * (position - decay.center) / decay.scale_base);
}

PairLanes pair_lanes(const RotationPlan& rotation, int64_t begin) {
  const int64_t lanes_per_pair = rotation.layout == PairLayout::interleaved ? 2 : 1;
  return {rotation.layout, rotation.rotary_start + begin * lanes_per_pair, rotation.num_pairs()};
}

Status check_decay(std::string_view operation, const Plan& plan, const PositionView& positions,
                   const std::optional<HeadRole>& role, int64_t batch, int64_t length) {
  for (const RotationPlan& rotation : plan.rotations) {
    if (!rotation.decay) continue;
    const Decay& decay = *rotation.decay;
    if (!role) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: the plan's {} grows queries and shrinks keys: expected a role",
                               operation, method_name(plan.spec))};
    }
    double steepest = 0;
    for (const double log_zeta : decay.log_zeta) steepest = std::max(steepest, std::abs(log_zeta));
    const double reach = std::floor(largest_exponent * decay.scale_base / steepest);
    const double limit = static_cast<double>(max_position);
    const auto least =
        static_cast<int64_t>(std::clamp(std::ceil(decay.center - reach), -limit, limit));
    const auto most =
        static_cast<int64_t>(std::clamp(std::floor(decay.center + reach), -limit, limit));
    if (const auto outside = find_outside(positions, batch, length, least, most)) {
      return Error{ErrorKind::limit,
                   fmt::format("{}: position {} ({}): expected {} to {}: beyond, the decay with "
                               "scale_base {} and center {} leaves float32's range",
                               operation, outside->value, outside->place, least, most,
                               decay.scale_base, decay.center)};
    }
  }
  return {};
}

}  // namespace hodometer::internal
