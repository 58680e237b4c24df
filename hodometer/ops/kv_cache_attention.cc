#include <fmt/format.h>

#include <vector>

#include "hodometer/kernels/convert.h"
#include "hodometer/ops/attention_checks-inl.h"
#include "hodometer/ops/kv_cache_state-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

using internal::KvSide;
using internal::KvState;
using internal::RowFormat;

/// Whether rows lie as kernels read them.
bool is_plain(const KvState& state) {
  return state.storage.contiguous() && state.options.type != KvType::int8;
}

/// Only the shape, for rows that come through a RowSource, and data that is never read.
HeadsView shape_of(const KvState& state, KvSide side) {
  static float nothing = 0;
  const RowFormat& format = state.storage.format(side);
  return {&nothing, DType::float32, 1, state.tokens(), format.heads, format.lanes, 0, 0, 0};
}

void load_keys(const void* context, int64_t, int64_t head, int64_t begin, int64_t count,
               float* rows) {
  static_cast<const KvState*>(context)->load_keys(head, begin, count, rows);
}

void load_values(const void* context, int64_t, int64_t head, int64_t begin, int64_t count,
                 float* rows) {
  static_cast<const KvState*>(context)->storage.load(KvSide::value, head, begin, count, rows);
}

Status refuse_view(std::string_view name, std::string_view reason) {
  return Error{ErrorKind::unsupported, fmt::format("kv_cache: {}: {}", name, reason)};
}

Result<HeadsView> stored(const KvState& state, KvSide side, std::string_view name) {
  if (state.options.type == KvType::int8) {
    return refuse_view(name,
                       "rows are int8 with a scale each: expected a cache of float32, "
                       "bfloat16 or float16")
        .error();
  }
  if (!state.storage.contiguous()) {
    return refuse_view(name, "rows lie in pages: expected a cache in one block").error();
  }
  return state.storage.view(side);
}

using Load = void (*)(const void*, int64_t, int64_t, int64_t, int64_t, float*);

Status read(const KvState& state, KvSide side, TokenRange tokens, const HeadsView& out, Load load) {
  const std::string_view name = side == KvSide::key ? "read_keys" : "read_values";
  const RowFormat& format = state.storage.format(side);
  if (tokens.begin < 0 || tokens.begin > tokens.end || tokens.end > state.tokens()) {
    return Error{ErrorKind::usage,
                 fmt::format("kv_cache: {}: tokens {} to {} (not included): expected within 0 to "
                             "{}, the tokens of the cache",
                             name, tokens.begin, tokens.end, state.tokens())};
  }
  HODO_RETURN_IF_ERROR(internal::check_extents(fmt::format("kv_cache: {}: out", name), out.data,
                                               dtype_size(out.dtype),
                                               {{"batch", out.batch, out.batch_stride},
                                                {"length", out.length, out.length_stride},
                                                {"heads", out.heads, out.head_stride},
                                                {"head_dim", out.head_dim, 1}}));
  const int64_t count = tokens.end - tokens.begin;
  if (out.batch != 1 || out.length != count || out.heads != format.heads ||
      out.head_dim != format.lanes) {
    return Error{ErrorKind::usage,
                 fmt::format("kv_cache: {}: out is [{}, {}, {}, {}]: expected [1, {}, {}, {}]",
                             name, out.batch, out.length, out.heads, out.head_dim, count,
                             format.heads, format.lanes)};
  }
  std::vector<float> row(static_cast<size_t>(format.lanes));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t head = 0; head < format.heads; ++head) {
      load(&state, 0, head, tokens.begin + i, 1, row.data());
      from_float32(out.dtype, row.data(), const_cast<void*>(internal::row_of(out, i, head)),
                   format.lanes);
    }
  }
  return {};
}

Status check_call(const Plan& plan, const HeadsView& q, const KvCache& cache,
                  const AttentionOptions& options) {
  if (q.batch != 1) {
    return Error{
        ErrorKind::usage,
        fmt::format("attention: q has batch {}: expected 1, the sequence of the cache", q.batch)};
  }
  if (options.key_positions) {
    return Error{ErrorKind::usage,
                 "attention: key_positions beside a cache, which has its own: expected none"};
  }
  if (internal::same_rotations(plan, cache.plan())) return {};
  return Error{ErrorKind::usage,
               fmt::format("attention: keys of the cache are turned by {} for context_length {} "
                           "and the plan is {} for context_length {}, with other rotations: "
                           "expected reschedule_keys() with the plan first",
                           method_name(cache.plan().spec), cache.plan().context_length,
                           method_name(plan.spec), plan.context_length)};
}

}  // namespace

Result<HeadsView> KvCache::stored_keys() const {
  if (pending() > 0) {
    return refuse_view("stored_keys",
                       fmt::format("{} keys wait to be turned: expected settle() first", pending()))
        .error();
  }
  return stored(*state_, KvSide::key, "stored_keys");
}

Result<HeadsView> KvCache::stored_values() const {
  return stored(*state_, KvSide::value, "stored_values");
}

Status KvCache::read_keys(TokenRange tokens, const HeadsView& out) const {
  return read(*state_, KvSide::key, tokens, out, &load_keys);
}

Status KvCache::read_values(TokenRange tokens, const HeadsView& out) const {
  return read(*state_, KvSide::value, tokens, out, &load_values);
}

Status attention(const Plan& plan, const HeadsView& q, const KvCache& cache, const HeadsView& out,
                 const AttentionOptions& options, Executor& executor) {
  HODO_RETURN_IF_ERROR(check_call(plan, q, cache, options));
  const KvState& state = cache.state();
  const bool plain_keys = is_plain(state) && state.pending == 0;
  const bool plain_values = is_plain(state);
  AttentionOptions all = options;
  all.key_positions = cache.position_view();
  all.keys = state.options.keys;
  if (!all.query_positions && q.length >= 0 && q.length <= state.tokens()) {
    all.query_positions = state.position_view(state.tokens() - q.length, q.length);
  }
  HODO_ASSIGN(
      internal::AttentionCall call,
      internal::check_attention(
          plan, q, plain_keys ? state.storage.view(KvSide::key) : shape_of(state, KvSide::key),
          plain_values ? state.storage.view(KvSide::value) : shape_of(state, KvSide::value), out,
          all));
  if (!plain_keys) call.key_source = internal::RowSource{&load_keys, &state};
  if (!plain_values) call.value_source = internal::RowSource{&load_values, &state};
  internal::run_attention(call, executor);
  return {};
}

}  // namespace hodometer
