#include "hodometer/ops/kv_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "hodometer/base/check.h"
#include "hodometer/kernels/convert.h"
#include "hodometer/ops/decay-inl.h"
#include "hodometer/ops/kv_cache_state-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

using internal::KvSide;
using internal::KvState;

constexpr int64_t most_lanes = 512;
constexpr int64_t most_tokens = int64_t{1} << 31;
/// Bytes of float32 rows that a task works on at once.
constexpr int64_t tile_bytes = 64 * 1024;

Status refuse(std::string_view operation, std::string text) {
  return Error{ErrorKind::usage, fmt::format("kv_cache: {}: {}", operation, text)};
}

Status named(std::string_view operation, const Status& status) {
  if (status.ok()) return {};
  return Error{status.error().kind,
               fmt::format("kv_cache: {}: {}", operation, status.error().message)};
}

std::string_view room_name(const KvRoom& room) {
  constexpr std::string_view names[] = {"first_capacity", "capacity", "page_size"};
  return names[room.index()];
}

Status check_options(const KvCacheOptions& options, const Plan& plan) {
  HODO_RETURN_IF_ERROR(check_between("num_kv_heads", options.num_kv_heads, 1, max_num_heads));
  HODO_RETURN_IF_ERROR(check_between("head_dim", options.head_dim, 1, most_lanes));
  HODO_RETURN_IF_ERROR(check_between("value_dim", options.value_dim, 1, most_lanes));
  HODO_RETURN_IF_ERROR(check_between(room_name(options.room),
                                     internal::tokens_at_once(options.room), 1, most_tokens));
  if (!plan.rotations.empty() && plan.head_dim() != options.head_dim) {
    return Error{ErrorKind::usage, fmt::format("head_dim is {}: expected the plan's {}",
                                               options.head_dim, plan.head_dim())};
  }
  const bool decays = std::any_of(plan.rotations.begin(), plan.rotations.end(),
                                  [](const auto& one) { return one.decay.has_value(); });
  if (decays && options.type == KvType::int8 && options.keys == KeyState::turned) {
    return Error{ErrorKind::unsupported,
                 fmt::format("int8 keys turned by {}, whose pairs shrink at rates of their own and "
                             "would share a scale: expected keys to be stored unturned",
                             method_name(plan.spec))};
  }
  return {};
}

Status check_range(std::string_view operation, TokenRange range, int64_t tokens) {
  if (range.begin >= 0 && range.begin <= range.end && range.end <= tokens) return {};
  return refuse(operation, fmt::format("tokens {} to {} (not included): expected within 0 to {}, "
                                       "the tokens of the cache",
                                       range.begin, range.end, tokens));
}

Status check_heads(std::string_view operation, std::string_view name, const HeadsView& heads,
                   int64_t length, const internal::RowFormat& format) {
  HODO_RETURN_IF_ERROR(internal::check_extents(fmt::format("kv_cache: {}: {}", operation, name),
                                               heads.data, dtype_size(heads.dtype),
                                               {{"batch", heads.batch, heads.batch_stride},
                                                {"length", heads.length, heads.length_stride},
                                                {"heads", heads.heads, heads.head_stride},
                                                {"head_dim", heads.head_dim, 1}}));
  if (heads.batch == 1 && heads.length == length && heads.heads == format.heads &&
      heads.head_dim == format.lanes) {
    return {};
  }
  return refuse(operation, fmt::format("{} is [{}, {}, {}, {}]: expected [1, {}, {}, {}]", name,
                                       heads.batch, heads.length, heads.heads, heads.head_dim,
                                       length, format.heads, format.lanes));
}

/// Positions that keys can be turned by.
Status check_places(std::string_view operation, const Plan& plan, const PositionView& positions,
                    int64_t length) {
  const std::string name = fmt::format("kv_cache: {}", operation);
  HODO_RETURN_IF_ERROR(internal::check_positions(name, plan, positions, 1, length));
  if (std::holds_alternative<PositionView::Coordinates>(positions.source())) {
    return refuse(operation, "positions are coordinates: expected whole numbers");
  }
  return internal::check_decay(name, plan, positions, HeadRole::key, 1, length);
}

/// Whole positions, [length, num_axes].
std::vector<int64_t> list_of(const PositionView& view, int64_t length) {
  std::vector<int64_t> list;
  list.reserve(static_cast<size_t>(length * view.num_axes()));
  for (int64_t token = 0; token < length; ++token) {
    for (int64_t axis = 0; axis < view.num_axes(); ++axis) {
      list.push_back(static_cast<int64_t>(internal::position_at(view, axis, 0, token)));
    }
  }
  return list;
}

/// Keeps ranges of rows of so many numbers each.
template <class Number>
void keep_rows(std::vector<Number>& rows, int64_t width, std::span<const TokenRange> ranges) {
  if (rows.empty()) return;
  auto to = rows.begin();
  for (const TokenRange& range : ranges) {
    to = std::copy(rows.begin() + range.begin * width, rows.begin() + range.end * width, to);
  }
  rows.erase(to, rows.end());
}

/// Copies rows of new tokens into the storage: keys turned, values as they are.
struct NewRows {
  KvState& state;
  const HeadsView& k;
  const HeadsView& v;
  int64_t first;  ///< the token of the cache that token 0 becomes

  void store(int64_t begin, int64_t count) const {
    std::vector<float> rows(
        static_cast<size_t>(count * k.heads * std::max(k.head_dim, v.head_dim)));
    read(k, begin, count, rows.data());
    if (state.turned()) {
      internal::turn_keys(*state.plan, state.position_view(first + begin, count), rows.data(),
                          count, k.heads);
    }
    write(KvSide::key, begin, count, k.head_dim, rows.data());
    read(v, begin, count, rows.data());
    write(KvSide::value, begin, count, v.head_dim, rows.data());
  }

 private:
  void read(const HeadsView& from, int64_t begin, int64_t count, float* rows) const {
    for (int64_t i = 0; i < count * from.heads; ++i) {
      to_float32(from.dtype, internal::row_of(from, begin + i / from.heads, i % from.heads),
                 rows + i * from.head_dim, from.head_dim);
    }
  }
  void write(KvSide side, int64_t begin, int64_t count, int64_t lanes, const float* rows) const {
    for (int64_t i = 0; i < count * k.heads; ++i) {
      state.storage.store(side, first + begin + i / k.heads, i % k.heads, rows + i * lanes);
    }
  }
};

Status refuse_axes(std::string_view method) {
  return Error{ErrorKind::unsupported,
               fmt::format("can_shift: {} has positions on several axes, where a shift by one "
                           "distance has no meaning",
                           method)};
}

Status refuse_rows(std::string_view method) {
  return Error{ErrorKind::unsupported,
               fmt::format("can_shift: {} adds a row to the embedding of each token, which is "
                           "inside of its key and cannot be taken out",
                           method)};
}

Status shiftable(const Nope&) { return {}; }
Status shiftable(const Sinusoidal&) { return refuse_rows(Sinusoidal::name); }
Status shiftable(const Learned&) { return refuse_rows(Learned::name); }
Status shiftable(const Alibi&) { return {}; }
Status shiftable(const T5Bias&) { return {}; }
Status shiftable(const Shaw&) { return {}; }
Status shiftable(const Rotary&) { return {}; }
Status shiftable(const Mrope&) { return refuse_axes(Mrope::name); }
Status shiftable(const AxialRotary&) { return refuse_axes(AxialRotary::name); }
Status shiftable(const Xpos&) { return {}; }

/// Room for `more` values, doubled as push_back would.
template <class T>
void make_room(std::vector<T>& list, size_t more) {
  const size_t needed = list.size() + more;
  if (list.capacity() < needed) list.reserve(std::max(needed, 2 * list.capacity()));
}

}  // namespace

Status can_shift(const PositionSpec& spec) {
  return std::visit([](const auto& method) { return shiftable(method); }, spec.method);
}

KvCache::KvCache(std::unique_ptr<KvState> state) : state_(std::move(state)) {}
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;
KvCache::~KvCache() = default;

Result<KvCache> KvCache::make(const KvCacheOptions& options, std::shared_ptr<const Plan> plan) {
  if (!plan) return refuse("make", "there is no plan").error();
  HODO_RETURN_IF_ERROR(named("make", check_options(options, *plan)));
  HODO_ASSIGN(internal::KvStorage storage, internal::KvStorage::make(options));
  auto state = std::make_unique<KvState>(KvState{options, plan, std::move(storage)});
  state->set_plan(std::move(plan));
  return KvCache(std::move(state));
}

Status KvCache::append(const HeadsView& k, const HeadsView& v, const PositionView& positions,
                       Executor& executor) {
  constexpr std::string_view operation = "append";
  KvState& state = *state_;
  HODO_RETURN_IF_ERROR(check_heads(operation, "k", k, k.length, state.storage.format(KvSide::key)));
  HODO_RETURN_IF_ERROR(
      check_heads(operation, "v", v, k.length, state.storage.format(KvSide::value)));
  HODO_RETURN_IF_ERROR(check_places(operation, *state.plan, positions, k.length));
  if (k.length > most_tokens - tokens()) {
    return Error{ErrorKind::limit,
                 fmt::format("kv_cache: append: {} tokens beside {}: expected at most {}", k.length,
                             tokens(), most_tokens)};
  }
  if (k.length == 0) return {};
  // The view may show the positions of this cache.
  const std::vector<int64_t> list = list_of(positions, k.length);
  const int64_t first = tokens();
  // Whatever may find no memory comes before what changes the cache.
  make_room(state.positions, list.size());
  if (state.turned()) {
    make_room(state.stored_positions, list.size());
    make_room(state.stored_plans, static_cast<size_t>(k.length));
  }
  HODO_RETURN_IF_ERROR(state.storage.append(k.length));
  state.positions.insert(state.positions.end(), list.begin(), list.end());
  if (state.turned()) {
    state.stored_positions.insert(state.stored_positions.end(), list.begin(), list.end());
    state.stored_plans.insert(state.stored_plans.end(), static_cast<size_t>(k.length),
                              state.current);
  }
  const NewRows rows{state, k, v, first};
  const int64_t bytes_per_token =
      k.heads * std::max(k.head_dim, v.head_dim) * static_cast<int64_t>(sizeof(float));
  internal::for_each_run(1, k.length, bytes_per_token,
                         std::max<int64_t>(1, tile_bytes / bytes_per_token), executor,
                         [&](const internal::TokenRun& run) { rows.store(run.token, run.count); });
  return {};
}

Status KvCache::shift_keys(TokenRange range, int64_t distance) {
  HODO_RETURN_IF_ERROR(check_range("shift_keys", range, tokens()));
  std::vector<int64_t> list(static_cast<size_t>(range.end - range.begin));
  std::iota(list.begin(), list.end(), range.begin);
  return move_keys(list, distance);
}

Status KvCache::shift_keys(PositionInterval interval, int64_t distance) {
  std::vector<int64_t> list;
  for (int64_t token = 0; token < tokens(); ++token) {
    const int64_t position = state_->positions[static_cast<size_t>(token * num_axes())];
    if (position >= interval.first && position <= interval.last) list.push_back(token);
  }
  return move_keys(list, distance);
}

Status KvCache::move_keys(std::span<const int64_t> list, int64_t distance) {
  KvState& state = *state_;
  HODO_RETURN_IF_ERROR(named("shift_keys", can_shift(state.plan->spec)));
  const int64_t most = internal::largest_position(*state.plan);
  std::vector<int64_t> moved;
  moved.reserve(list.size());
  for (const int64_t token : list) {
    const int64_t from = state.positions[static_cast<size_t>(token)];
    int64_t to = 0;
    if (__builtin_add_overflow(from, distance, &to) || to < -max_position || to > most) {
      return Error{
          ErrorKind::limit,
          fmt::format("kv_cache: shift_keys: token {} from position {} by {}: expected "
                      "positions from {} to {}, which the plan for context_length {} "
                      "serves",
                      token, from, distance, -max_position, most, state.plan->context_length)};
    }
    moved.push_back(to);
  }
  const auto count = static_cast<int64_t>(moved.size());
  HODO_RETURN_IF_ERROR(internal::check_decay("kv_cache: shift_keys", *state.plan,
                                             PositionView::shared_ids(moved), HeadRole::key, 1,
                                             count));
  if (state.turned()) {
    for (size_t i = 0; i < moved.size(); ++i) {
      HODO_RETURN_IF_ERROR(internal::check_way("kv_cache: shift_keys", state.stored(list[i]),
                                               {state.plan.get(), &moved[i]}));
    }
  }
  for (size_t i = 0; i < moved.size(); ++i) {
    state.positions[static_cast<size_t>(list[i])] = moved[i];
  }
  state.count_pending();
  return {};
}

Status KvCache::reschedule_keys(std::shared_ptr<const Plan> plan) {
  constexpr std::string_view operation = "reschedule_keys";
  KvState& state = *state_;
  if (!plan) return refuse(operation, "there is no plan");
  HODO_RETURN_IF_ERROR(internal::check_same_lanes("kv_cache: reschedule_keys", *state.plan, *plan));
  HODO_RETURN_IF_ERROR(check_places(operation, *plan, position_view(), tokens()));
  if (state.turned()) {
    for (int64_t token = 0; token < tokens(); ++token) {
      HODO_RETURN_IF_ERROR(internal::check_way("kv_cache: reschedule_keys", state.stored(token),
                                               {plan.get(), state.wanted(token).positions}));
    }
  }
  state.set_plan(std::move(plan));
  return {};
}

void KvCache::settle(Executor& executor) {
  KvState& state = *state_;
  if (state.pending == 0) return;
  constexpr int64_t at_once = 64;
  const auto task = [&](int64_t index) {
    const int64_t begin = index * at_once;
    state.settle(begin, std::min(at_once, tokens() - begin));
  };
  executor.run((tokens() - 1) / at_once + 1, task);
  state.stored_positions = state.positions;
  std::fill(state.stored_plans.begin(), state.stored_plans.end(), state.current);
  state.set_plan(state.plan);
}

Status KvCache::keep(std::span<const TokenRange> ranges) {
  KvState& state = *state_;
  int64_t end = 0;
  for (const TokenRange& range : ranges) {
    HODO_RETURN_IF_ERROR(check_range("keep", range, tokens()));
    if (range.begin < end) {
      return refuse("keep", fmt::format("a range from token {} on after one up to {}: expected "
                                        "ranges that ascend and do not overlap",
                                        range.begin, end));
    }
    end = range.end;
  }
  state.storage.keep(ranges);
  keep_rows(state.positions, num_axes(), ranges);
  keep_rows(state.stored_positions, num_axes(), ranges);
  keep_rows(state.stored_plans, 1, ranges);
  state.set_plan(state.plan);
  return {};
}

Status KvCache::drop(TokenRange range) {
  HODO_RETURN_IF_ERROR(check_range("drop", range, tokens()));
  const TokenRange kept[] = {{0, range.begin}, {range.end, tokens()}};
  return keep(kept);
}

Status KvCache::keep_sinks_and_window(int64_t sinks, int64_t window) {
  if (sinks < 0 || window < 0) {
    return refuse("keep_sinks_and_window", fmt::format("sinks is {} and window {}: expected 0 or "
                                                       "more",
                                                       sinks, window));
  }
  const int64_t first = std::min(sinks, tokens());
  const TokenRange kept[] = {{0, first}, {tokens() - std::min(window, tokens() - first), tokens()}};
  return keep(kept);
}

Status KvCache::truncate(int64_t length) {
  const TokenRange kept{0, length};
  HODO_RETURN_IF_ERROR(check_range("truncate", kept, tokens()));
  return keep({&kept, 1});
}

void KvCache::clear() { [[maybe_unused]] const Status done = keep({}); }

int64_t KvCache::tokens() const { return state_->tokens(); }
std::span<const int64_t> KvCache::positions() const { return state_->positions; }
PositionView KvCache::position_view() const { return state_->position_view(0, tokens()); }
int64_t KvCache::num_axes() const { return state_->num_axes(); }

int64_t KvCache::next_position() const {
  const std::vector<int64_t>& positions = state_->positions;
  return positions.empty() ? 0 : *std::max_element(positions.begin(), positions.end()) + 1;
}

int64_t KvCache::pending() const { return state_->pending; }
const KvCacheOptions& KvCache::options() const { return state_->options; }
const Plan& KvCache::plan() const { return *state_->plan; }

KvMemory KvCache::memory() const {
  const KvState& state = *state_;
  KvMemory memory = state.storage.memory();
  memory.bookkeeping += static_cast<int64_t>(
      (state.positions.capacity() + state.stored_positions.capacity()) * sizeof(int64_t) +
      state.stored_plans.capacity() * sizeof(int32_t));
  return memory;
}

}  // namespace hodometer
