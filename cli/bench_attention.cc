#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/attention_run.h"
#include "cli/benchmark.h"
#include "hodometer/kernels/limits.h"

namespace hodometer::cli {
namespace {

/// Beside the multiply-adds that the machine can do in registers.
Benchmark prefill(int64_t length, DType dtype, std::string_view method, double target) {
  auto run = std::make_shared<AttentionRun>(method, dtype, length, length);
  Benchmark benchmark;
  benchmark.name = run->name("attention", method);
  benchmark.unit = "GFLOP/s";
  benchmark.limit_name = "multiply-add";
  benchmark.work = run->giga_operations();
  benchmark.target = target;
  benchmark.check = [run] { return run->check(); };
  benchmark.run = [run] { run->run(); };
  benchmark.run_limit = [run] {
    (void)multiply_add(static_cast<int64_t>(5e8 * run->giga_operations()), 0.5f, 1);
  };
  return benchmark;
}

/// Beside the same attention without a method.
Benchmark cost(std::string_view method, double target) {
  constexpr int64_t length = 2048;
  auto without = std::make_shared<AttentionRun>("nope", DType::float32, length, length);
  Benchmark benchmark = prefill(length, DType::float32, method, target);
  benchmark.name += "/cost";
  benchmark.unit = "ms";
  benchmark.limit_name = "no method";
  benchmark.work = 1000;
  benchmark.target_of = TargetOf::slowdown_at_most;
  benchmark.run_limit = [without] { without->run(); };
  return benchmark;
}

Benchmark two_threads() {
  constexpr int64_t length = 2048;
  Benchmark benchmark = prefill(length, DType::float32, "nope", 1.85);
  auto run = std::make_shared<AttentionRun>("nope", DType::float32, length, length);
  const std::shared_ptr<Executor> executor = make_executor(2);
  benchmark.name += "/two_threads";
  benchmark.limit_name = "one thread";
  benchmark.clock = Clock::wall;
  benchmark.run = [run, executor] { run->run(*executor); };
  benchmark.run_limit = [run] { run->run(); };
  return benchmark;
}

std::vector<std::function<Benchmark()>> benchmarks() {
  std::vector<std::function<Benchmark()>> list;
  const auto add = [&](int64_t length, DType dtype, double target) {
    list.emplace_back([=] { return prefill(length, dtype, "nope", target); });
  };
  add(1024, DType::float32, 0.82);
  add(4096, DType::float32, 0.88);
  add(4096, DType::float16, 0.85);
  add(4096, DType::bfloat16, 0.85);
  for (const auto& [method, target] : std::vector<std::pair<std::string, double>>{
           {"rotary", 1.02}, {"alibi", 1.03}, {"t5", 1.05}, {"shaw", 1.12}, {"shaw_values", 1.2}}) {
    list.emplace_back([method, target] { return cost(method, target); });
  }
  list.emplace_back(two_threads);
  return list;
}

const BenchmarkRegistration registered({"attention", "many queries over their keys", benchmarks});

}  // namespace
}  // namespace hodometer::cli
