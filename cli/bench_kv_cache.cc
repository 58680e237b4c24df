#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/attention_run.h"
#include "cli/benchmark.h"
#include "hodometer/kernels/limits.h"
#include "hodometer/ops/kv_cache.h"

namespace hodometer::cli {
namespace {

constexpr int64_t short_cache = 4096, long_cache = 32768;

/// What a cache stores numbers as.
struct Stored {
  std::string_view name;
  KvType type;
  DType source;  ///< of the keys and values that come
  /// Of outputs, which are about 0.003 with 32768 keys and 0.01 with 4096.
  double largest_error;
};
constexpr Stored float32{"float32", KvType::float32, DType::float32, 2e-6};
constexpr Stored bfloat16{"bfloat16", KvType::bfloat16, DType::bfloat16, 1e-4};
constexpr Stored float16{"float16", KvType::float16, DType::float16, 2e-5};
constexpr Stored int8{"int8", KvType::int8, DType::bfloat16, 1e-3};

void expect(const Status& status) {
  if (!status.ok()) std::abort();
}

/// Rotary attention whose keys and values also lie in a cache.
struct CacheRun {
  CacheRun(const Stored& stored, KvRoom room, int64_t tokens)
      : largest_error(stored.largest_error),
        attention("rotary", stored.source, 1, tokens),
        plan(std::make_shared<const Plan>(attention.plan)),
        cache(KvCache::make({AttentionRun::num_kv_heads, AttentionRun::head_dim,
                             AttentionRun::head_dim, stored.type, room},
                            plan)
                  .value()) {}

  void append(int64_t first) {
    expect(cache.append(attention.k.view(), attention.v.view(), PositionView::range(first)));
  }
  void shift(int64_t distance) {
    expect(cache.shift_keys(TokenRange{0, cache.tokens()}, distance));
  }
  void decode() {
    expect(hodometer::attention(*plan, attention.q.view(), cache, attention.out.view()));
  }
  Status check() {
    decode();
    return attention.check_out(largest_error);
  }

  double largest_error;
  AttentionRun attention;
  std::shared_ptr<const Plan> plan;
  KvCache cache;
};

/// Beside reading as many bytes as keys and values of the cache have.
Benchmark decode(const Stored& stored, const KvRoom& room, std::string_view what, int64_t shifted) {
  auto run = std::make_shared<CacheRun>(stored, room, long_cache);
  run->append(shifted);
  run->shift(-shifted);
  const int64_t bytes = run->cache.memory().used;
  auto read = std::make_shared<std::vector<float>>(static_cast<size_t>(bytes / 4), 1.0f);
  Benchmark benchmark;
  benchmark.name =
      fmt::format("kv_cache/decode_1x{}x32_8x128/{}/{}", long_cache, stored.name, what);
  benchmark.unit = "GB/s";
  benchmark.limit_name = "read";
  benchmark.work = 1e-9 * static_cast<double>(bytes);
  benchmark.target = 0.6;
  benchmark.check = [run] { return run->check(); };
  benchmark.run = [run] { run->decode(); };
  benchmark.run_limit = [read] { (void)sum(read->data(), static_cast<int64_t>(read->size())); };
  return benchmark;
}

/// Beside reading what comes.
Benchmark append(const Stored& stored) {
  auto run = std::make_shared<CacheRun>(stored, KvFixed{short_cache}, short_cache);
  Benchmark benchmark;
  benchmark.name = fmt::format("kv_cache/append_{}x8x128/{}", short_cache, stored.name);
  benchmark.unit = "GB/s";
  benchmark.limit_name = "read";
  benchmark.work = 1e-9 * run->attention.bytes();
  benchmark.target = 0.3;
  benchmark.run = [run] {
    run->cache.clear();
    run->append(0);
  };
  benchmark.check = [run, fill = benchmark.run] {
    fill();
    return run->check();
  };
  auto read = std::make_shared<std::vector<float>>(
      static_cast<size_t>(run->attention.bytes() / sizeof(float)), 1.0f);
  benchmark.run_limit = [read] { (void)sum(read->data(), static_cast<int64_t>(read->size())); };
  return benchmark;
}

/// All keys moved and stored where they are wanted, beside scaling as many bytes.
Benchmark settle(const Stored& stored) {
  auto run = std::make_shared<CacheRun>(stored, KvFixed{short_cache}, short_cache);
  run->append(1);
  const int64_t bytes = run->cache.memory().used / 2;
  Benchmark benchmark;
  benchmark.name = fmt::format("kv_cache/shift_settle_{}x8x128/{}", short_cache, stored.name);
  benchmark.unit = "GB/s";
  benchmark.limit_name = "in-place scale";
  benchmark.work = 1e-9 * static_cast<double>(bytes);
  benchmark.target = 0.3;
  benchmark.run = [run] {
    run->shift(run->cache.positions()[0] == 0 ? 1 : -1);
    run->cache.settle();
  };
  benchmark.check = [run, shift = benchmark.run] {
    shift();
    return run->check();
  };
  auto scaled = std::make_shared<std::vector<float>>(static_cast<size_t>(bytes / 4), 1.0f);
  benchmark.run_limit = [scaled] {
    scale_in_place(DType::float32, scaled->data(), static_cast<int64_t>(scaled->size()), 1.0f);
  };
  return benchmark;
}

std::vector<std::function<Benchmark()>> benchmarks() {
  std::vector<std::function<Benchmark()>> list;
  const auto add_decode = [&](const Stored& stored, const KvRoom& room, std::string_view what,
                              int64_t shifted) {
    list.emplace_back([=] { return decode(stored, room, what, shifted); });
  };
  for (const Stored& stored : {float32, bfloat16, float16, int8}) {
    list.emplace_back([=] { return append(stored); });
  }
  add_decode(bfloat16, KvGrowing(), "block", 0);
  add_decode(bfloat16, KvGrowing(), "pending", 1000);
  add_decode(bfloat16, KvPaged{64}, "paged_64", 0);
  add_decode(int8, KvGrowing(), "block", 0);
  for (const Stored& stored : {bfloat16, int8}) {
    list.emplace_back([=] { return settle(stored); });
  }
  return list;
}

const BenchmarkRegistration registered({"kv_cache",
                                        "a cache of keys and values: append, decode, shift",
                                        benchmarks});

}  // namespace
}  // namespace hodometer::cli
