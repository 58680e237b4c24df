#include "hodometer/ops/kv_cache.h"

#include <utility>
#include <vector>

#include "hodometer/capi/attention-inl.h"

using namespace hodometer;

struct hodo_kv_cache {
  KvCache cache;
};

namespace {

Result<KvRoom> room_of(std::string_view operation, const hodo_kv_cache_options& options) {
  hodo_kv_room room{};
  HODO_RETURN_IF_ERROR(capi::to_enum(operation, "room", options.room, 3, room));
  switch (room) {
    case HODO_KV_GROWING:
      break;
    case HODO_KV_FIXED:
      return KvRoom(KvFixed{options.room_tokens});
    case HODO_KV_PAGED:
      return KvRoom(KvPaged{options.room_tokens});
  }
  return KvRoom(KvGrowing{options.room_tokens});
}

Result<KvCacheOptions> options_of(std::string_view operation, const hodo_kv_cache_options& from) {
  KvCacheOptions to;
  to.num_kv_heads = from.num_kv_heads;
  to.head_dim = from.head_dim;
  to.value_dim = from.value_dim;
  HODO_RETURN_IF_ERROR(capi::to_enum(operation, "type", from.type, 4, to.type));
  HODO_ASSIGN(to.room, room_of(operation, from));
  HODO_RETURN_IF_ERROR(capi::to_enum(operation, "keys", from.keys, 2, to.keys));
  return to;
}

hodo_heads heads_from(const HeadsView& heads) {
  return {heads.data,         static_cast<hodo_dtype>(heads.dtype),
          heads.batch,        heads.length,
          heads.heads,        heads.head_dim,
          heads.batch_stride, heads.length_stride,
          heads.head_stride};
}

/// Runs body(KvCache&), or of a const one, if there is a cache.
template <class Cache, class Body>
hodo_status with_cache(std::string_view operation, Cache* cache, const Body& body) {
  return capi::guard([&]() -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "cache", cache));
    return body(cache->cache);
  });
}

hodo_status store_view(std::string_view operation, const hodo_kv_cache* cache, hodo_heads* heads,
                       Result<HeadsView> (KvCache::*stored)() const) {
  return with_cache(operation, cache, [&](const KvCache& said) -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "heads", heads));
    HODO_ASSIGN(const HeadsView view, (said.*stored)());
    *heads = heads_from(view);
    return {};
  });
}

hodo_status read_rows(std::string_view operation, const hodo_kv_cache* cache, TokenRange tokens,
                      const hodo_heads* out,
                      Status (KvCache::*read)(TokenRange, const HeadsView&) const) {
  return with_cache(operation, cache, [&](const KvCache& said) -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "out", out));
    HODO_ASSIGN(const HeadsView rows, capi::heads_of(operation, *out));
    return (said.*read)(tokens, rows);
  });
}

}  // namespace

extern "C" {

hodo_kv_cache_options hodo_kv_cache_defaults(int64_t num_kv_heads, int64_t head_dim,
                                             int64_t value_dim) {
  return {num_kv_heads,    head_dim,        value_dim,
          HODO_KV_FLOAT32, HODO_KV_GROWING, KvGrowing().first_capacity,
          HODO_KEYS_TURNED};
}

hodo_status hodo_spec_can_shift(const char* spec_json) {
  return capi::guard([&]() -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given("hodo_spec_can_shift", "spec_json", spec_json));
    HODO_ASSIGN(const PositionSpec spec, parse_spec(spec_json));
    return can_shift(spec);
  });
}

hodo_status hodo_kv_cache_create(const hodo_kv_cache_options* options, const hodo_plan* plan,
                                 hodo_kv_cache** cache) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_kv_cache_create";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "options", options));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "cache", cache));
    HODO_ASSIGN(const KvCacheOptions said, options_of(operation, *options));
    HODO_ASSIGN(KvCache made, KvCache::make(said, plan->plan));
    *cache = new hodo_kv_cache{std::move(made)};
    return {};
  });
}

void hodo_kv_cache_free(hodo_kv_cache* cache) { delete cache; }

hodo_status hodo_kv_cache_append(hodo_kv_cache* cache, const hodo_heads* k, const hodo_heads* v,
                                 const hodo_positions* positions, hodo_executor* executor) {
  constexpr std::string_view operation = "hodo_kv_cache_append";
  return with_cache(operation, cache, [&](KvCache& said) -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "k", k));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "v", v));
    HODO_ASSIGN(const HeadsView keys, capi::heads_of(operation, *k));
    HODO_ASSIGN(const HeadsView values, capi::heads_of(operation, *v));
    HODO_ASSIGN(const PositionView view, capi::view_of(operation, positions));
    return said.append(keys, values, view, capi::executor_of(executor));
  });
}

hodo_status hodo_kv_cache_shift_tokens(hodo_kv_cache* cache, int64_t begin, int64_t end,
                                       int64_t distance) {
  return with_cache("hodo_kv_cache_shift_tokens", cache, [&](KvCache& said) {
    return said.shift_keys(TokenRange{begin, end}, distance);
  });
}

hodo_status hodo_kv_cache_shift_positions(hodo_kv_cache* cache, int64_t first, int64_t last,
                                          int64_t distance) {
  return with_cache("hodo_kv_cache_shift_positions", cache, [&](KvCache& said) {
    return said.shift_keys(PositionInterval{first, last}, distance);
  });
}

hodo_status hodo_kv_cache_reschedule(hodo_kv_cache* cache, const hodo_plan* plan) {
  constexpr std::string_view operation = "hodo_kv_cache_reschedule";
  return with_cache(operation, cache, [&](KvCache& said) -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    return said.reschedule_keys(plan->plan);
  });
}

hodo_status hodo_kv_cache_settle(hodo_kv_cache* cache, hodo_executor* executor) {
  return with_cache("hodo_kv_cache_settle", cache, [&](KvCache& said) -> Status {
    said.settle(capi::executor_of(executor));
    return {};
  });
}

hodo_status hodo_kv_cache_keep(hodo_kv_cache* cache, const hodo_token_range* ranges, size_t count) {
  constexpr std::string_view operation = "hodo_kv_cache_keep";
  return with_cache(operation, cache, [&](KvCache& said) -> Status {
    std::span<const hodo_token_range> given;
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "ranges", ranges, count, given));
    std::vector<TokenRange> kept;
    kept.reserve(count);
    for (const hodo_token_range& range : given) kept.push_back({range.begin, range.end});
    return said.keep(kept);
  });
}

hodo_status hodo_kv_cache_drop(hodo_kv_cache* cache, int64_t begin, int64_t end) {
  return with_cache("hodo_kv_cache_drop", cache, [&](KvCache& said) {
    return said.drop({begin, end});
  });
}

hodo_status hodo_kv_cache_keep_sinks_and_window(hodo_kv_cache* cache, int64_t sinks,
                                                int64_t window) {
  return with_cache("hodo_kv_cache_keep_sinks_and_window", cache,
                    [&](KvCache& said) { return said.keep_sinks_and_window(sinks, window); });
}

hodo_status hodo_kv_cache_truncate(hodo_kv_cache* cache, int64_t length) {
  return with_cache("hodo_kv_cache_truncate", cache,
                    [&](KvCache& said) { return said.truncate(length); });
}

hodo_status hodo_kv_cache_clear(hodo_kv_cache* cache) {
  return with_cache("hodo_kv_cache_clear", cache, [&](KvCache& said) -> Status {
    said.clear();
    return {};
  });
}

int64_t hodo_kv_cache_tokens(const hodo_kv_cache* cache) {
  return cache == nullptr ? 0 : cache->cache.tokens();
}
int64_t hodo_kv_cache_num_axes(const hodo_kv_cache* cache) {
  return cache == nullptr ? 0 : cache->cache.num_axes();
}
int64_t hodo_kv_cache_next_position(const hodo_kv_cache* cache) {
  return cache == nullptr ? 0 : cache->cache.next_position();
}
int64_t hodo_kv_cache_pending(const hodo_kv_cache* cache) {
  return cache == nullptr ? 0 : cache->cache.pending();
}
const int64_t* hodo_kv_cache_positions(const hodo_kv_cache* cache) {
  if (cache == nullptr || cache->cache.tokens() == 0) return nullptr;
  return cache->cache.positions().data();
}

hodo_kv_memory hodo_kv_cache_memory(const hodo_kv_cache* cache) {
  if (cache == nullptr) return {0, 0, 0};
  const KvMemory memory = cache->cache.memory();
  return {memory.allocated, memory.used, memory.bookkeeping};
}

hodo_status hodo_kv_cache_stored_keys(const hodo_kv_cache* cache, hodo_heads* heads) {
  return store_view("hodo_kv_cache_stored_keys", cache, heads, &KvCache::stored_keys);
}

hodo_status hodo_kv_cache_stored_values(const hodo_kv_cache* cache, hodo_heads* heads) {
  return store_view("hodo_kv_cache_stored_values", cache, heads, &KvCache::stored_values);
}

hodo_status hodo_kv_cache_read_keys(const hodo_kv_cache* cache, int64_t begin, int64_t end,
                                    const hodo_heads* out) {
  return read_rows("hodo_kv_cache_read_keys", cache, {begin, end}, out, &KvCache::read_keys);
}

hodo_status hodo_kv_cache_read_values(const hodo_kv_cache* cache, int64_t begin, int64_t end,
                                      const hodo_heads* out) {
  return read_rows("hodo_kv_cache_read_values", cache, {begin, end}, out, &KvCache::read_values);
}

hodo_status hodo_kv_cache_attention(const hodo_plan* plan, const hodo_heads* q,
                                    const hodo_kv_cache* cache, const hodo_heads* out,
                                    const hodo_attention_options* options,
                                    hodo_executor* executor) {
  constexpr std::string_view operation = "hodo_kv_cache_attention";
  return with_cache(operation, cache, [&](const KvCache& said) -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "q", q));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "out", out));
    HODO_ASSIGN(const HeadsView queries, capi::heads_of(operation, *q));
    HODO_ASSIGN(const HeadsView result, capi::heads_of(operation, *out));
    capi::AttentionSegments segments;
    HODO_ASSIGN(const AttentionOptions how,
                capi::attention_options_of(operation, options, segments));
    return attention(*plan->plan, queries, said, result, how, capi::executor_of(executor));
  });
}

}  // extern "C"
