#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/attention_run.h"
#include "cli/benchmark.h"
#include "hodometer/kernels/limits.h"
#include "hodometer/ops/attention_backward.h"

namespace hodometer::cli {
namespace {

constexpr int64_t length = 2048;
// Backward has five products of matrices where attention has two.
constexpr double products = 2.5;

/// Attention with its gradients.
struct BackwardRun {
  BackwardRun(std::string_view method, DType type)
      : forward(method, type, length, length),
        seed(DType::float32, length, AttentionRun::num_heads, AttentionRun::head_dim, 5),
        of_q(DType::float32, length, AttentionRun::num_heads, AttentionRun::head_dim),
        of_k(type, length, AttentionRun::num_kv_heads, AttentionRun::head_dim),
        of_v(type, length, AttentionRun::num_kv_heads, AttentionRun::head_dim),
        of_buckets(forward.buckets.size()) {
    forward.run();
  }

  void run() {
    AttentionOptions options;
    options.learned = {forward.buckets, forward.key_rows, forward.value_rows};
    AttentionGradients gradients;
    gradients.q = of_q.view();
    gradients.k = of_k.view();
    gradients.v = of_v.view();
    gradients.buckets = of_buckets;
    if (!attention_backward(forward.plan, forward.q.view(), forward.k.view(), forward.v.view(),
                            forward.out.view(), seed.view(), forward.log_sums.data(), gradients,
                            options)
             .ok()) {
      std::abort();
    }
  }

  Status check() {
    run();
    for (const int64_t query : {int64_t{1}, length / 2, length - 1}) {
      for (const int64_t head : {int64_t{0}, AttentionRun::num_heads - 1}) {
        HODO_RETURN_IF_ERROR(check_query(query, head));
      }
    }
    return {};
  }

  // dq = sum of w (do . v - do . out) k / sqrt(head_dim), in double.
  Status check_query(int64_t query, int64_t head) const {
    constexpr int64_t dim = AttentionRun::head_dim;
    const int64_t kv_head = head / (AttentionRun::num_heads / AttentionRun::num_kv_heads);
    HODO_ASSIGN(const ExactAttention exact, forward.exact(query, head));
    const std::vector<double> gradient = seed.head(head, query, 1);
    const std::vector<double> k = forward.k.head(kv_head, 0, query + 1);
    const std::vector<double> v = forward.v.head(kv_head, 0, query + 1);
    const auto dot = [&](const double* a, const double* b) {
      double sum = 0;
      for (int64_t lane = 0; lane < dim; ++lane) sum += a[lane] * b[lane];
      return sum;
    };
    const double mean = dot(gradient.data(), exact.out.data());
    std::vector<double> want(static_cast<size_t>(dim), 0.0);
    for (int64_t n = 0; n <= query; ++n) {
      const double factor = exact.weights[static_cast<size_t>(n)] *
                            (dot(gradient.data(), v.data() + n * dim) - mean) /
                            std::sqrt(static_cast<double>(dim));
      for (int64_t lane = 0; lane < dim; ++lane) {
        want[static_cast<size_t>(lane)] += factor * k[static_cast<size_t>(n * dim + lane)];
      }
    }
    const std::vector<double> got = of_q.head(head, query, 1);
    for (size_t lane = 0; lane < got.size(); ++lane) {
      const double error = std::fabs(got[lane] - want[lane]);
      if (error <= 5e-6) continue;
      return Error{ErrorKind::bad_input,
                   fmt::format("gradient of query {}, head {}, lane {}: off by {:.3g}, expected at "
                               "most 5e-6",
                               query, head, lane, error)};
    }
    return {};
  }

  AttentionRun forward;
  Heads seed, of_q, of_k, of_v;
  std::vector<float> of_buckets;
};

/// Beside the multiply-adds that the machine can do in registers.
Benchmark backward(std::string_view method, DType type) {
  auto run = std::make_shared<BackwardRun>(method, type);
  Benchmark benchmark;
  benchmark.name = run->forward.name("backward", method);
  benchmark.unit = "GFLOP/s";
  benchmark.limit_name = "multiply-add";
  benchmark.work = products * run->forward.giga_operations();
  benchmark.target = 0.62;  // 0.7 of what attention is to reach
  benchmark.check = [run] { return run->check(); };
  benchmark.run = [run] { run->run(); };
  benchmark.run_limit = [run] {
    (void)multiply_add(static_cast<int64_t>(5e8 * products * run->forward.giga_operations()), 0.5f,
                       1);
  };
  return benchmark;
}

std::vector<std::function<Benchmark()>> benchmarks() {
  std::vector<std::function<Benchmark()>> list;
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16}) {
    for (const char* method : {"nope", "alibi", "t5"}) {
      list.emplace_back([=] { return backward(method, type); });
    }
  }
  return list;
}

const BenchmarkRegistration registered({"backward", "gradients of attention", benchmarks});

}  // namespace
}  // namespace hodometer::cli
