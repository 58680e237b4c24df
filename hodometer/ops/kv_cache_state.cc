#include <algorithm>
#include <cassert>
#include <utility>

#include "hodometer/ops/kv_cache_state-inl.h"
#include "hodometer/ops/rotate.h"

namespace hodometer::internal {
namespace {

/// Whether the way from one key to where it is wanted is that of another, with no look at lanes.
bool same_way(const KvState& state, int64_t a, int64_t b) {
  const auto plan = [&](int64_t token) { return state.stored_plans[static_cast<size_t>(token)]; };
  // Steps in float32 angles are no multiples of one another.
  if (plan(a) != state.current || plan(b) != state.current ||
      state.plan->angle_mode != AngleMode::exact) {
    return false;
  }
  const KeyTurn from_a = state.stored(a), to_a = state.wanted(a);
  const KeyTurn from_b = state.stored(b), to_b = state.wanted(b);
  for (int64_t axis = 0; axis < state.num_axes(); ++axis) {
    if (to_a.positions[axis] - from_a.positions[axis] !=
        to_b.positions[axis] - from_b.positions[axis]) {
      return false;
    }
  }
  return true;
}

}  // namespace

PositionView KvState::position_view(int64_t begin, int64_t count) const {
  return PositionView::strided(
      PositionView::Ids{positions.data() + begin * num_axes(), 1, count, 1, 0, num_axes()},
      num_axes());
}

KeyTurn KvState::stored(int64_t token) const {
  return {plans[static_cast<size_t>(stored_plans[static_cast<size_t>(token)])].get(),
          stored_positions.data() + token * num_axes()};
}

KeyTurn KvState::wanted(int64_t token) const {
  return {plan.get(), positions.data() + token * num_axes()};
}

bool KvState::is_pending(int64_t token) const {
  return stored_plans[static_cast<size_t>(token)] != current ||
         !std::equal(wanted(token).positions, wanted(token).positions + num_axes(),
                     stored(token).positions);
}

void KvState::count_pending() {
  pending = 0;
  if (!turned()) return;
  for (int64_t token = 0; token < tokens(); ++token) pending += is_pending(token) ? 1 : 0;
}

void KvState::set_plan(std::shared_ptr<const Plan> next) {
  plan = std::move(next);
  if (!turned()) return;
  std::vector<int32_t> places(plans.size(), -1);
  for (const int32_t place : stored_plans) places[static_cast<size_t>(place)] = 0;
  int32_t kept = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (places[i] < 0) continue;
    places[i] = kept;
    plans[static_cast<size_t>(kept++)] = plans[i];
  }
  plans.resize(static_cast<size_t>(kept));
  for (int32_t& place : stored_plans) place = places[static_cast<size_t>(place)];
  const auto same = std::find_if(plans.begin(), plans.end(),
                                 [&](const auto& one) { return same_rotations(*one, *plan); });
  current = static_cast<int32_t>(same - plans.begin());
  if (same == plans.end()) plans.push_back(plan);
  count_pending();
}

void KvState::load_keys(int64_t head, int64_t begin, int64_t count, float* rows) const {
  storage.load(KvSide::key, head, begin, count, rows);
  if (options.keys == KeyState::unturned) {
    turn_keys(*plan, position_view(begin, count), rows, count, 1);
    return;
  }
  if (pending == 0) return;
  const int64_t end = begin + count;
  for (int64_t first = begin, next = begin; first < end; first = next) {
    do ++next;
    while (next < end && same_way(*this, first, next));
    if (!is_pending(first)) continue;
    turn_on(stored(first), wanted(first), rows + (first - begin) * options.head_dim, next - first);
  }
}

void KvState::settle(int64_t begin, int64_t count) {
  std::vector<float> rows(static_cast<size_t>(count * options.head_dim));
  for (int64_t head = 0; head < options.num_kv_heads; ++head) {
    load_keys(head, begin, count, rows.data());
    for (int64_t i = 0; i < count; ++i) {
      if (!is_pending(begin + i)) continue;
      storage.store(KvSide::key, begin + i, head, rows.data() + i * options.head_dim);
    }
  }
}

void turn_keys(const Plan& plan, const PositionView& positions, float* rows, int64_t tokens,
               int64_t heads) {
  if (plan.rotations.empty()) return;
  RotateOptions options;
  options.role = HeadRole::key;
  [[maybe_unused]] const Status turned =
      rotate(plan, HeadsView::bshd(rows, DType::float32, 1, tokens, heads, plan.head_dim()),
             positions, options);
  assert(turned.ok());
}

const void* row_of(const HeadsView& heads, int64_t token, int64_t head) {
  return static_cast<const char*>(heads.data) +
         (token * heads.length_stride + head * heads.head_stride) * dtype_size(heads.dtype);
}

}  // namespace hodometer::internal
