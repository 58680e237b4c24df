#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "hodometer/kernels/rotate_pairs.h"
#include "hodometer/ops/decay-inl.h"
#include "hodometer/ops/kv_cache_rotation-inl.h"
#include "hodometer/plan/phase.h"

namespace hodometer::internal {
namespace {

/// Pairs that are worked on at once.
constexpr int64_t tile_pairs = 256;
/// exp(87) and exp(-87) are normal float32 numbers.
constexpr double largest_exponent = 87;

bool same_decay(const std::optional<Decay>& a, const std::optional<Decay>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->log_zeta == b->log_zeta && a->scale_base == b->scale_base && a->center == b->center;
}

bool same_rotation(const RotationPlan& a, const RotationPlan& b) {
  return a.head_dim == b.head_dim && a.layout == b.layout && a.rotary_dim == b.rotary_dim &&
         a.rotary_start == b.rotary_start && a.axis == b.axis && a.num_axes == b.num_axes &&
         a.magnitude == b.magnitude && a.angles.step == b.angles.step &&
         a.angles.inv_freq_float32 == b.angles.inv_freq_float32 && same_decay(a.decay, b.decay);
}

int64_t position_of(const KeyTurn& turn, const RotationPlan& rotation, int64_t pair) {
  return turn.positions[rotation.axis.empty() ? 0 : rotation.axis[static_cast<size_t>(pair)]];
}

/// The angle of a pair as a fraction of a turn times 2^64.
uint64_t phase_of(const KeyTurn& turn, const RotationPlan& rotation, int64_t pair) {
  const int64_t position = position_of(turn, rotation, pair);
  const auto at = static_cast<size_t>(pair);
  if (turn.plan->angle_mode == AngleMode::exact) {
    return static_cast<uint64_t>(position) * rotation.angles.step[at];
  }
  const float angle = static_cast<float>(position) * rotation.angles.inv_freq_float32[at];
  return phase_step(static_cast<double>(angle));
}

/// The logarithm of what a key's pair is multiplied by.
double log_factor(const KeyTurn& turn, const RotationPlan& rotation, int64_t pair) {
  const double constant = std::log(rotation.magnitude);
  if (!rotation.decay) return constant;
  const Decay& decay = *rotation.decay;
  const auto position = static_cast<double>(position_of(turn, rotation, pair));
  return constant -
         decay.log_zeta[static_cast<size_t>(pair)] * (position - decay.center) / decay.scale_base;
}

}  // namespace

bool same_rotations(const Plan& a, const Plan& b) {
  return (a.rotations.empty() || a.angle_mode == b.angle_mode) &&
         std::equal(a.rotations.begin(), a.rotations.end(), b.rotations.begin(), b.rotations.end(),
                    same_rotation);
}

Status check_same_lanes(std::string_view operation, const Plan& from, const Plan& to) {
  const auto refuse = [&](std::string_view name, const auto& wanted, const auto& found) {
    return Error{ErrorKind::usage, fmt::format("{}: {} of the plan is {}: expected the cache's {}",
                                               operation, name, found, wanted)};
  };
  if (from.spec.method.index() != to.spec.method.index()) {
    return refuse("method", method_name(from.spec), method_name(to.spec));
  }
  if (from.head_dim() != to.head_dim()) {
    return refuse("head_dim", from.head_dim(), to.head_dim());
  }
  if (from.num_axes() != to.num_axes()) {
    return refuse("num_axes", from.num_axes(), to.num_axes());
  }
  if (from.rotations.size() != to.rotations.size()) {
    return refuse("number of rotations", from.rotations.size(), to.rotations.size());
  }
  for (size_t i = 0; i < from.rotations.size(); ++i) {
    const RotationPlan& a = from.rotations[i];
    const RotationPlan& b = to.rotations[i];
    if (a.layout != b.layout) {
      const auto names = enum_names(PairLayout());
      return refuse("layout", names[static_cast<size_t>(a.layout)].second,
                    names[static_cast<size_t>(b.layout)].second);
    }
    if (a.rotary_dim != b.rotary_dim) return refuse("rotary_dim", a.rotary_dim, b.rotary_dim);
    if (a.rotary_start != b.rotary_start) {
      return refuse("rotary_start", a.rotary_start, b.rotary_start);
    }
    if (a.axis != b.axis) {
      return Error{ErrorKind::usage, fmt::format("{}: pairs of the plan read other axes than the "
                                                 "cache's: expected the same sections",
                                                 operation)};
    }
  }
  return {};
}

Status check_way(std::string_view operation, const KeyTurn& from, const KeyTurn& to) {
  for (size_t i = 0; i < to.plan->rotations.size(); ++i) {
    const RotationPlan& before = from.plan->rotations[i];
    const RotationPlan& after = to.plan->rotations[i];
    const bool decays = before.decay || after.decay;
    if (!decays && before.magnitude == after.magnitude) continue;
    const int64_t pairs = decays ? after.num_pairs() : std::min<int64_t>(1, after.num_pairs());
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const double exponent = log_factor(to, after, pair) - log_factor(from, before, pair);
      if (std::abs(exponent) <= largest_exponent) continue;
      return Error{ErrorKind::limit,
                   fmt::format("{}: from position {} to {} pair {} of {} is multiplied by exp({}): "
                               "expected a factor within float32's range, exp(-{}) to exp({})",
                               operation, position_of(from, before, pair),
                               position_of(to, after, pair), pair, method_name(to.plan->spec),
                               exponent, largest_exponent, largest_exponent)};
    }
  }
  return {};
}

void turn_on(const KeyTurn& from, const KeyTurn& to, float* rows, int64_t count) {
  std::array<uint64_t, tile_pairs> phases;
  std::array<float, tile_pairs> factors;
  for (size_t i = 0; i < to.plan->rotations.size(); ++i) {
    const RotationPlan& before = from.plan->rotations[i];
    const RotationPlan& after = to.plan->rotations[i];
    for (int64_t begin = 0; begin < after.num_pairs(); begin += tile_pairs) {
      AngleRows row;
      row.tokens = 1;
      row.pairs = std::min(tile_pairs, after.num_pairs() - begin);
      for (int64_t j = 0; j < row.pairs; ++j) {
        phases[static_cast<size_t>(j)] =
            phase_of(to, after, begin + j) - phase_of(from, before, begin + j);
      }
      // Position 1 of these steps is the phase itself.
      row.angles = ExactAngles{phases.data(), nullptr};
      row.positions = PositionRun{1};
      row.magnitude = static_cast<float>(after.magnitude / before.magnitude);
      if (after.decay) {
        row.magnitude = 1;
        for (int64_t j = 0; j < row.pairs; ++j) {
          factors[static_cast<size_t>(j)] = static_cast<float>(
              std::exp(log_factor(to, after, begin + j) - log_factor(from, before, begin + j)));
        }
        row.decay = factors.data();
        row.decay_stride = row.pairs;
      }
      // The rows are heads of one token, so that one row of cosines and sines serves them all.
      const int64_t width = after.head_dim;
      rotate_pairs(row, Direction::forward, pair_lanes(after, begin),
                   {.dtype = DType::float32,
                    .heads = count,
                    .head_dim = width,
                    .src = rows,
                    .src_token_stride = count * width,
                    .src_head_stride = width,
                    .dst = rows,
                    .dst_token_stride = count * width,
                    .dst_head_stride = width});
    }
  }
}

}  // namespace hodometer::internal
