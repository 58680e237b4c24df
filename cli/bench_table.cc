#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "cli/benchmark.h"
#include "hodometer/kernels/limits.h"
#include "hodometer/ops/exact_table.h"
#include "hodometer/ops/make_table.h"

namespace hodometer::cli {
namespace {

constexpr int64_t length = 131072;
constexpr int64_t pairs = 64;
constexpr double base = 10000;

struct Table {
  std::vector<float> cos = std::vector<float>(static_cast<size_t>(length * pairs));
  std::vector<float> sin = std::vector<float>(static_cast<size_t>(length * pairs));
};

Plan plan_of_table() {
  return make_plan({Rotary{2 * pairs, {}, 0, PairLayout::half_split, base, DefaultSchedule{}}},
                   max_position + 1)
      .value();
}

/// Every 997th row at the start and at the end of the number line.
Status check_table(const Plan& plan, Table& table) {
  for (const int64_t first : {int64_t{0}, max_position + 1 - length}) {
    HODO_RETURN_IF_ERROR(
        make_table(plan, PositionView::range(first), length, table.cos, table.sin));
    for (int64_t row = 0; row < length; row += 997) {
      for (int64_t i = 0; i < pairs; ++i) {
        const Real w = pow(Real(base), Real(-static_cast<double>(i)) / Real(double{pairs}));
        const CosSin want = exact_cos_sin(w, static_cast<double>(first + row));
        const auto at = static_cast<size_t>(row * pairs + i);
        const double error = std::max(std::fabs(double{table.cos[at]} - want.cos),
                                      std::fabs(double{table.sin[at]} - want.sin));
        if (error <= 6e-8) continue;
        return Error{ErrorKind::bad_input,
                     fmt::format("position {}, pair {}: off by {:.3g}, expected at most 6e-8",
                                 first + row, i, error)};
      }
    }
  }
  return {};
}

Benchmark whole_table() {
  const Plan plan = plan_of_table();
  auto table = std::make_shared<Table>();
  Benchmark benchmark;
  benchmark.name = "table/131072x64";
  benchmark.unit = "Mpairs/s";
  benchmark.limit_name = "store";
  benchmark.work = 1e-6 * static_cast<double>(length * pairs);
  benchmark.target = 1000;
  benchmark.target_of = TargetOf::value_at_least;
  benchmark.check = [plan, table] { return check_table(plan, *table); };
  benchmark.run = [plan, table] {
    if (!make_table(plan, PositionView::range(0), length, table->cos, table->sin).ok())
      std::abort();
  };
  benchmark.run_limit = [table] {
    fill(table->cos.data(), length * pairs, 1.0F);
    fill(table->sin.data(), length * pairs, 0.0F);
  };
  return benchmark;
}

std::vector<std::function<Benchmark()>> benchmarks() { return {whole_table}; }

const BenchmarkRegistration registered({"table", "tables of cosines and sines", benchmarks});

}  // namespace
}  // namespace hodometer::cli
