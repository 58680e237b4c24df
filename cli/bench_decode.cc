#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/attention_run.h"
#include "cli/benchmark.h"
#include "hodometer/kernels/limits.h"

namespace hodometer::cli {
namespace {

/// One query over a long cache, beside reading as many bytes.
Benchmark decode(DType dtype, std::string_view method, double target) {
  constexpr int64_t length = 32768;
  auto run = std::make_shared<AttentionRun>(method, dtype, 1, length);
  auto bytes = std::make_shared<std::vector<float>>(static_cast<size_t>(run->bytes() / 4), 1.0f);
  Benchmark benchmark;
  benchmark.name = run->name("decode", method);
  benchmark.unit = "GB/s";
  benchmark.limit_name = "read";
  benchmark.work = 1e-9 * run->bytes();
  benchmark.target = target;
  benchmark.check = [run] { return run->check(); };
  benchmark.run = [run] { run->run(); };
  benchmark.run_limit = [bytes] { (void)sum(bytes->data(), static_cast<int64_t>(bytes->size())); };
  return benchmark;
}

std::vector<std::function<Benchmark()>> benchmarks() {
  std::vector<std::function<Benchmark()>> list;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const double target = dtype == DType::float32 ? 0.75 : 0.6;
    for (const std::string& method : attention_run_methods()) {
      list.emplace_back([=] { return decode(dtype, method, target); });
    }
  }
  return list;
}

const BenchmarkRegistration registered({"decode", "one query over a long cache", benchmarks});

}  // namespace
}  // namespace hodometer::cli
