#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hodometer/capi/hodometer_c.h"
#include "hodometer/ops/kv_cache.h"

namespace {

struct Free {
  void operator()(hodo_plan* plan) const { hodo_plan_free(plan); }
  void operator()(hodo_kv_cache* cache) const { hodo_kv_cache_free(cache); }
  void operator()(hodo_executor* executor) const { hodo_executor_free(executor); }
};
using Plan = std::unique_ptr<hodo_plan, Free>;
using Cache = std::unique_ptr<hodo_kv_cache, Free>;

const std::string rotary = R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000})";
const std::string dynamic =
    R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000,"schedule":{
        "rope_type":"dynamic","factor":2,"original_max_position_embeddings":16}})";

Plan plan_of(const std::string& spec, int64_t context_length = 64) {
  hodo_plan* plan = nullptr;
  EXPECT_EQ(hodo_plan_create(spec.c_str(), context_length, HODO_ANGLES_EXACT, &plan), HODO_OK)
      << hodo_last_error();
  return Plan(plan);
}

constexpr int64_t length = 20, num_heads = 4, num_kv_heads = 2, dim = 8;

Cache cache_of(const hodo_plan* plan,
               hodo_kv_cache_options options = hodo_kv_cache_defaults(num_kv_heads, dim, dim)) {
  hodo_kv_cache* cache = nullptr;
  EXPECT_EQ(hodo_kv_cache_create(&options, plan, &cache), HODO_OK) << hodo_last_error();
  return Cache(cache);
}

/// The same numbers as C and as C++ see them.
struct Tensor {
  Tensor(int64_t tokens, int64_t heads, float step)
      : values(static_cast<size_t>(tokens * heads * dim)) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(step * static_cast<float>(i + 1));
    }
    c = {values.data(), HODO_FLOAT32,         1,           tokens, heads,
         dim,           tokens * heads * dim, heads * dim, dim};
    cc =
        hodometer::HeadsView::bshd(values.data(), hodometer::DType::float32, 1, tokens, heads, dim);
  }
  std::vector<float> values;
  hodo_heads c;
  hodometer::HeadsView cc;
};

struct Tensors {
  Tensor k{length, num_kv_heads, 1.3f}, v{length, num_kv_heads, 0.9f};
};

void append(hodo_kv_cache* cache, Tensors& tensors, int64_t first = 0) {
  const hodo_positions positions = hodo_positions_range(first, 1);
  ASSERT_EQ(hodo_kv_cache_append(cache, &tensors.k.c, &tensors.v.c, &positions, nullptr), HODO_OK)
      << hodo_last_error();
}

std::vector<int64_t> positions_of(const hodo_kv_cache* cache) {
  const int64_t* list = hodo_kv_cache_positions(cache);
  return {list, list + hodo_kv_cache_tokens(cache) * hodo_kv_cache_num_axes(cache)};
}

TEST(CKvCache, GivesTheBytesOfTheLibrary) {
  const std::array<std::pair<hodo_kv_room, hodometer::KvRoom>, 3> rooms{
      {{HODO_KV_GROWING, hodometer::KvGrowing{24}},
       {HODO_KV_FIXED, hodometer::KvFixed{24}},
       {HODO_KV_PAGED, hodometer::KvPaged{24}}}};
  const std::array types{HODO_KV_FLOAT32, HODO_KV_BFLOAT16, HODO_KV_FLOAT16, HODO_KV_INT8};
  const auto executor = [] {
    hodo_executor* made = nullptr;
    EXPECT_EQ(hodo_executor_create(2, &made), HODO_OK);
    return std::unique_ptr<hodo_executor, Free>(made);
  }();
  for (const hodo_kv_type type : types) {
    for (const auto& [room, cc_room] : rooms) {
      for (const hodo_key_state keys : {HODO_KEYS_TURNED, HODO_KEYS_UNTURNED}) {
        const Plan plan = plan_of(dynamic, 16), later = plan_of(dynamic, 64);
        const Cache cache = cache_of(plan.get(), {num_kv_heads, dim, dim, type, room, 24, keys});
        const auto cc_plan = [](int64_t context_length) {
          return std::make_shared<const hodometer::Plan>(
              hodometer::make_plan(hodometer::parse_spec(dynamic).value(), context_length).value());
        };
        hodometer::KvCache cc =
            hodometer::KvCache::make({num_kv_heads, dim, dim, static_cast<hodometer::KvType>(type),
                                      cc_room, static_cast<hodometer::KeyState>(keys)},
                                     cc_plan(16))
                .value();
        const hodo_positions positions = hodo_positions_range(0, 1);
        Tensors t;
        for (Tensor* tensor : {&t.k, &t.v}) tensor->c.length = tensor->cc.length = 16;
        ASSERT_EQ(hodo_kv_cache_append(cache.get(), &t.k.c, &t.v.c, &positions, executor.get()),
                  HODO_OK)
            << hodo_last_error();
        ASSERT_TRUE(cc.append(t.k.cc, t.v.cc, hodometer::PositionView::range(0)).ok());
        ASSERT_EQ(hodo_kv_cache_reschedule(cache.get(), later.get()), HODO_OK);
        ASSERT_TRUE(cc.reschedule_keys(cc_plan(64)).ok());
        ASSERT_EQ(hodo_kv_cache_shift_tokens(cache.get(), 4, 16, 11), HODO_OK);
        ASSERT_TRUE(cc.shift_keys(hodometer::TokenRange{4, 16}, 11).ok());
        EXPECT_EQ(hodo_kv_cache_pending(cache.get()), cc.pending());

        Tensor q(3, num_heads, 0.7f), out(3, num_heads, 0), cc_out(3, num_heads, 0);
        ASSERT_EQ(hodo_kv_cache_attention(later.get(), &q.c, cache.get(), &out.c, nullptr,
                                          executor.get()),
                  HODO_OK)
            << hodo_last_error();
        ASSERT_TRUE(hodometer::attention(cc.plan(), q.cc, cc, cc_out.cc).ok());
        EXPECT_EQ(out.values, cc_out.values);
        Tensor read(16, num_kv_heads, 0), cc_read(16, num_kv_heads, 0);
        ASSERT_EQ(hodo_kv_cache_settle(cache.get(), executor.get()), HODO_OK);
        cc.settle();
        ASSERT_EQ(hodo_kv_cache_read_keys(cache.get(), 0, 16, &read.c), HODO_OK);
        ASSERT_TRUE(cc.read_keys({0, 16}, cc_read.cc).ok());
        EXPECT_EQ(read.values, cc_read.values);
        ASSERT_EQ(hodo_kv_cache_read_values(cache.get(), 0, 16, &read.c), HODO_OK);
        ASSERT_TRUE(cc.read_values({0, 16}, cc_read.cc).ok());
        EXPECT_EQ(read.values, cc_read.values);
        const hodo_kv_memory memory = hodo_kv_cache_memory(cache.get());
        EXPECT_EQ(memory.allocated, cc.memory().allocated);
        EXPECT_EQ(memory.used, cc.memory().used);
        EXPECT_GT(memory.bookkeeping, 0);
      }
    }
  }
}

TEST(CKvCache, TokensComeMoveAndGo) {
  const Plan plan = plan_of(rotary);
  const Cache cache = cache_of(plan.get());
  EXPECT_EQ(hodo_kv_cache_tokens(cache.get()), 0);
  EXPECT_EQ(hodo_kv_cache_positions(cache.get()), nullptr);
  EXPECT_EQ(hodo_kv_cache_next_position(cache.get()), 0);
  EXPECT_EQ(hodo_kv_cache_num_axes(cache.get()), 1);
  Tensors t;
  append(cache.get(), t);
  EXPECT_EQ(hodo_kv_cache_next_position(cache.get()), length);
  ASSERT_EQ(hodo_kv_cache_keep_sinks_and_window(cache.get(), 2, 4), HODO_OK);
  EXPECT_EQ(positions_of(cache.get()), (std::vector<int64_t>{0, 1, 16, 17, 18, 19}));
  ASSERT_EQ(hodo_kv_cache_shift_positions(cache.get(), 16, 19, -14), HODO_OK);
  EXPECT_EQ(positions_of(cache.get()), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(hodo_kv_cache_pending(cache.get()), 4);
  ASSERT_EQ(hodo_kv_cache_shift_tokens(cache.get(), 0, 1, 100), HODO_OK);
  EXPECT_EQ(hodo_kv_cache_next_position(cache.get()), 101);
  ASSERT_EQ(hodo_kv_cache_settle(cache.get(), nullptr), HODO_OK);
  EXPECT_EQ(hodo_kv_cache_pending(cache.get()), 0);
  ASSERT_EQ(hodo_kv_cache_drop(cache.get(), 1, 2), HODO_OK);
  const std::array<hodo_token_range, 2> ranges{{{0, 2}, {3, 5}}};
  ASSERT_EQ(hodo_kv_cache_keep(cache.get(), ranges.data(), ranges.size()), HODO_OK);
  EXPECT_EQ(positions_of(cache.get()), (std::vector<int64_t>{100, 2, 4, 5}));
  ASSERT_EQ(hodo_kv_cache_truncate(cache.get(), 3), HODO_OK);
  EXPECT_EQ(positions_of(cache.get()), (std::vector<int64_t>{100, 2, 4}));
  ASSERT_EQ(hodo_kv_cache_keep(cache.get(), nullptr, 0), HODO_OK);
  EXPECT_EQ(hodo_kv_cache_tokens(cache.get()), 0);
  append(cache.get(), t, 7);
  ASSERT_EQ(hodo_kv_cache_clear(cache.get()), HODO_OK);
  EXPECT_EQ(hodo_kv_cache_tokens(cache.get()), 0);
}

TEST(CKvCache, OutlivesThePlansItWasMadeWith) {
  Plan plan = plan_of(dynamic, 16), later = plan_of(dynamic, 48);
  const Cache cache = cache_of(plan.get());
  Tensors t;
  for (Tensor* tensor : {&t.k, &t.v}) tensor->c.length = 10;
  append(cache.get(), t);
  ASSERT_EQ(hodo_kv_cache_reschedule(cache.get(), later.get()), HODO_OK);
  plan.reset();
  later.reset();
  append(cache.get(), t, 10);
  const Plan again = plan_of(dynamic, 48);
  Tensor q(1, num_heads, 0.7f), out(1, num_heads, 0), keys(length, num_kv_heads, 0);
  ASSERT_EQ(hodo_kv_cache_attention(again.get(), &q.c, cache.get(), &out.c, nullptr, nullptr),
            HODO_OK)
      << hodo_last_error();
  ASSERT_EQ(hodo_kv_cache_read_keys(cache.get(), 0, length, &keys.c), HODO_OK);
  for (const float value : out.values) EXPECT_TRUE(std::isfinite(value));
}

TEST(CKvCache, StoredRowsAreWhereTheyLie) {
  const Plan plan = plan_of(rotary);
  hodo_kv_cache_options options = hodo_kv_cache_defaults(num_kv_heads, dim, dim);
  options.room_tokens = 32;
  const Cache cache = cache_of(plan.get(), options);
  Tensors t;
  append(cache.get(), t);
  hodo_heads keys{}, values{};
  ASSERT_EQ(hodo_kv_cache_stored_keys(cache.get(), &keys), HODO_OK);
  ASSERT_EQ(hodo_kv_cache_stored_values(cache.get(), &values), HODO_OK);
  EXPECT_EQ(values.dtype, HODO_FLOAT32);
  EXPECT_EQ(keys.batch, 1);
  EXPECT_EQ(keys.length, length);
  EXPECT_EQ(keys.heads, num_kv_heads);
  EXPECT_EQ(keys.head_dim, dim);
  EXPECT_EQ(keys.head_stride, 32 * dim);
  EXPECT_EQ(keys.length_stride, dim);
  for (int64_t token = 0; token < length; ++token) {
    for (int64_t lane = 0; lane < dim; ++lane) {
      const float stored = static_cast<const float*>(
          values.data)[values.head_stride + token * values.length_stride + lane];
      EXPECT_EQ(stored, t.v.values[static_cast<size_t>((token * num_kv_heads + 1) * dim + lane)]);
    }
  }
  ASSERT_EQ(hodo_kv_cache_shift_tokens(cache.get(), 0, 1, 1), HODO_OK);
  EXPECT_EQ(hodo_kv_cache_stored_keys(cache.get(), &keys), HODO_UNSUPPORTED);
  EXPECT_STREQ(hodo_last_error(),
               "kv_cache: stored_keys: 1 keys wait to be turned: expected settle() first");
}

TEST(CKvCache, SaysWhatCanShift) {
  EXPECT_EQ(hodo_spec_can_shift(rotary.c_str()), HODO_OK);
  EXPECT_EQ(hodo_spec_can_shift(R"({"method":"alibi","num_heads":4})"), HODO_OK);
  EXPECT_EQ(hodo_spec_can_shift(R"({"method":"sinusoidal","dim":8,"layout":"halves"})"),
            HODO_UNSUPPORTED);
  EXPECT_NE(std::string(hodo_last_error()).find("sinusoidal"), std::string::npos);
  EXPECT_NE(hodo_spec_can_shift("{"), HODO_OK);
  EXPECT_EQ(hodo_spec_can_shift(nullptr), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_spec_can_shift: spec_json is NULL: expected a pointer");
}

TEST(CKvCache, MakingRefuses) {
  const Plan plan = plan_of(rotary);
  const hodo_kv_cache_options good = hodo_kv_cache_defaults(num_kv_heads, dim, dim);
  hodo_kv_cache* cache = nullptr;
  EXPECT_EQ(hodo_kv_cache_create(nullptr, plan.get(), &cache), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_kv_cache_create: options is NULL: expected a pointer");
  EXPECT_EQ(hodo_kv_cache_create(&good, nullptr, &cache), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_kv_cache_create: plan is NULL: expected a pointer");
  EXPECT_EQ(hodo_kv_cache_create(&good, plan.get(), nullptr), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_kv_cache_create: cache is NULL: expected a pointer");
  const auto message = [&](const std::function<void(hodo_kv_cache_options&)>& change) {
    hodo_kv_cache_options options = good;
    change(options);
    const hodo_status status = hodo_kv_cache_create(&options, plan.get(), &cache);
    EXPECT_NE(status, HODO_OK);
    return std::string(hodo_last_error());
  };
  EXPECT_EQ(message([](auto& o) { o.type = static_cast<hodo_kv_type>(4); }),
            "hodo_kv_cache_create: type is 4: expected 0 to 3");
  EXPECT_EQ(message([](auto& o) { o.room = static_cast<hodo_kv_room>(-1); }),
            "hodo_kv_cache_create: room is -1: expected 0 to 2");
  EXPECT_EQ(message([](auto& o) { o.keys = static_cast<hodo_key_state>(2); }),
            "hodo_kv_cache_create: keys is 2: expected 0 to 1");
  EXPECT_EQ(message([](auto& o) { o.head_dim = 16; }),
            "kv_cache: make: head_dim is 16: expected the plan's 8");
  EXPECT_NE(message([](auto& o) { o.room_tokens = 0; }).find("first_capacity"), std::string::npos);
  EXPECT_NE(message([](auto& o) {
              o.room = HODO_KV_PAGED;
              o.room_tokens = -1;
            }).find("page_size"),
            std::string::npos);
  EXPECT_EQ(cache, nullptr);
}

TEST(CKvCache, NullIsNamedByEveryFunction) {
  const Plan plan = plan_of(rotary);
  const Cache cache = cache_of(plan.get());
  Tensors t;
  append(cache.get(), t);
  Tensor q(1, num_heads, 0.7f), out(1, num_heads, 0);
  const hodo_positions at = hodo_positions_range(length, 1);
  hodo_kv_cache* const some = cache.get();
  hodo_kv_cache* const none = nullptr;
  hodo_heads view{};
  const hodo_token_range range{0, 1};
  const auto missing = [](std::string_view operation, std::string_view name, hodo_status status) {
    EXPECT_EQ(status, HODO_USAGE);
    EXPECT_EQ(hodo_last_error(), "hodo_kv_cache_" + std::string(operation) + ": " +
                                     std::string(name) + " is NULL: expected a pointer");
  };
  missing("append", "cache", hodo_kv_cache_append(none, &t.k.c, &t.v.c, &at, nullptr));
  missing("append", "k", hodo_kv_cache_append(some, nullptr, &t.v.c, &at, nullptr));
  missing("append", "v", hodo_kv_cache_append(some, &t.k.c, nullptr, &at, nullptr));
  missing("append", "positions", hodo_kv_cache_append(some, &t.k.c, &t.v.c, nullptr, nullptr));
  missing("shift_tokens", "cache", hodo_kv_cache_shift_tokens(none, 0, 1, 1));
  missing("shift_positions", "cache", hodo_kv_cache_shift_positions(none, 0, 1, 1));
  missing("reschedule", "cache", hodo_kv_cache_reschedule(none, plan.get()));
  missing("reschedule", "plan", hodo_kv_cache_reschedule(some, nullptr));
  missing("settle", "cache", hodo_kv_cache_settle(none, nullptr));
  missing("keep", "cache", hodo_kv_cache_keep(none, &range, 1));
  missing("keep", "ranges", hodo_kv_cache_keep(some, nullptr, 1));
  missing("drop", "cache", hodo_kv_cache_drop(none, 0, 1));
  missing("keep_sinks_and_window", "cache", hodo_kv_cache_keep_sinks_and_window(none, 0, 1));
  missing("truncate", "cache", hodo_kv_cache_truncate(none, 0));
  missing("clear", "cache", hodo_kv_cache_clear(none));
  missing("stored_keys", "cache", hodo_kv_cache_stored_keys(none, &view));
  missing("stored_keys", "heads", hodo_kv_cache_stored_keys(some, nullptr));
  missing("stored_values", "cache", hodo_kv_cache_stored_values(none, &view));
  missing("stored_values", "heads", hodo_kv_cache_stored_values(some, nullptr));
  missing("read_keys", "cache", hodo_kv_cache_read_keys(none, 0, 1, &out.c));
  missing("read_keys", "out", hodo_kv_cache_read_keys(some, 0, 1, nullptr));
  missing("read_values", "cache", hodo_kv_cache_read_values(none, 0, 1, &out.c));
  missing("read_values", "out", hodo_kv_cache_read_values(some, 0, 1, nullptr));
  missing("attention", "cache",
          hodo_kv_cache_attention(plan.get(), &q.c, none, &out.c, nullptr, nullptr));
  missing("attention", "plan",
          hodo_kv_cache_attention(nullptr, &q.c, some, &out.c, nullptr, nullptr));
  missing("attention", "q",
          hodo_kv_cache_attention(plan.get(), nullptr, some, &out.c, nullptr, nullptr));
  missing("attention", "out",
          hodo_kv_cache_attention(plan.get(), &q.c, some, nullptr, nullptr, nullptr));
  EXPECT_EQ(hodo_kv_cache_tokens(some), length);
  EXPECT_EQ(hodo_kv_cache_tokens(none), 0);
  EXPECT_EQ(hodo_kv_cache_num_axes(none), 0);
  EXPECT_EQ(hodo_kv_cache_next_position(none), 0);
  EXPECT_EQ(hodo_kv_cache_pending(none), 0);
  EXPECT_EQ(hodo_kv_cache_positions(none), nullptr);
  EXPECT_EQ(hodo_kv_cache_memory(none).allocated, 0);
  hodo_kv_cache_free(nullptr);
}

TEST(CKvCache, WhatIsRefusedChangesNothing) {
  const Plan plan = plan_of(rotary);
  hodo_kv_cache_options options = hodo_kv_cache_defaults(num_kv_heads, dim, dim);
  options.room = HODO_KV_FIXED;
  options.room_tokens = length;
  const Cache cache = cache_of(plan.get(), options);
  Tensors t;
  append(cache.get(), t);
  const std::vector<int64_t> before = positions_of(cache.get());
  hodo_positions at = hodo_positions_range(length, 1);
  const auto kept = [&] {
    EXPECT_EQ(positions_of(cache.get()), before);
    EXPECT_EQ(hodo_kv_cache_pending(cache.get()), 0);
  };
  EXPECT_EQ(hodo_kv_cache_append(cache.get(), &t.k.c, &t.v.c, &at, nullptr), HODO_LIMIT);
  at.kind = static_cast<hodo_position_kind>(4);
  EXPECT_EQ(hodo_kv_cache_append(cache.get(), &t.k.c, &t.v.c, &at, nullptr), HODO_USAGE);
  t.v.c.dtype = static_cast<hodo_dtype>(3);
  EXPECT_EQ(hodo_kv_cache_append(cache.get(), &t.k.c, &t.v.c, &at, nullptr), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_kv_cache_append: dtype is 3: expected 0 to 2");
  kept();
  EXPECT_EQ(hodo_kv_cache_shift_tokens(cache.get(), 5, length + 1, 1), HODO_USAGE);
  EXPECT_EQ(hodo_kv_cache_shift_tokens(cache.get(), 5, 6, INT64_MAX), HODO_LIMIT);
  EXPECT_EQ(hodo_kv_cache_shift_positions(cache.get(), 5, 6, INT64_MAX), HODO_LIMIT);
  const Plan other =
      plan_of(R"({"method":"rotary","head_dim":8,"layout":"interleaved","base":10000})");
  EXPECT_EQ(hodo_kv_cache_reschedule(cache.get(), other.get()), HODO_USAGE);
  const std::array<hodo_token_range, 2> crossing{{{3, 5}, {4, 6}}};
  EXPECT_EQ(hodo_kv_cache_keep(cache.get(), crossing.data(), 2), HODO_USAGE);
  EXPECT_EQ(hodo_kv_cache_keep(cache.get(), crossing.data(), SIZE_MAX), HODO_USAGE);
  EXPECT_EQ(hodo_kv_cache_drop(cache.get(), -1, 2), HODO_USAGE);
  EXPECT_EQ(hodo_kv_cache_keep_sinks_and_window(cache.get(), -1, 2), HODO_USAGE);
  EXPECT_EQ(hodo_kv_cache_truncate(cache.get(), length + 1), HODO_USAGE);
  kept();
  Tensor out(1, num_kv_heads, 0);
  EXPECT_EQ(hodo_kv_cache_read_keys(cache.get(), 0, 2, &out.c), HODO_USAGE);
  EXPECT_EQ(hodo_kv_cache_read_values(cache.get(), length, length + 1, &out.c), HODO_USAGE);
  out.c.dtype = static_cast<hodo_dtype>(-1);
  EXPECT_EQ(hodo_kv_cache_read_values(cache.get(), 0, 1, &out.c), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_kv_cache_read_values: dtype is -1: expected 0 to 2");
}

TEST(CKvCache, AttentionRefuses) {
  const Plan plan = plan_of(rotary);
  const Cache cache = cache_of(plan.get());
  Tensors t;
  append(cache.get(), t);
  Tensor q(1, num_heads, 0.7f), out(1, num_heads, 0);
  const auto status = [&](const hodo_plan* by, const hodo_attention_options* options) {
    return hodo_kv_cache_attention(by, &q.c, cache.get(), &out.c, options, nullptr);
  };
  hodo_attention_options options = hodo_attention_defaults();
  options.keys = HODO_KEYS_TURNED;
  EXPECT_EQ(status(plan.get(), &options), HODO_OK) << hodo_last_error();
  const hodo_positions positions = hodo_positions_range(0, 1);
  options.key_positions = &positions;
  EXPECT_EQ(status(plan.get(), &options), HODO_USAGE);
  options = hodo_attention_defaults();
  options.mask.kind = static_cast<hodo_mask_kind>(5);
  EXPECT_EQ(status(plan.get(), &options), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_kv_cache_attention: mask.kind is 5: expected 0 to 4");
  const Plan other =
      plan_of(R"({"method":"rotary","head_dim":8,"layout":"half_split","base":500000})");
  EXPECT_EQ(status(other.get(), nullptr), HODO_USAGE);
  EXPECT_NE(std::string(hodo_last_error()).find("reschedule_keys()"), std::string::npos);
  q.c.dtype = static_cast<hodo_dtype>(9);
  EXPECT_EQ(status(plan.get(), nullptr), HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_kv_cache_attention: dtype is 9: expected 0 to 2");
}

}  // namespace
