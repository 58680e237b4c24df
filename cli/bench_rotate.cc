#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench_heads.h"
#include "cli/benchmark.h"
#include "hodometer/kernels/limits.h"
#include "hodometer/ops/exact_table.h"
#include "hodometer/ops/rotate.h"

namespace hodometer::cli {
namespace {

constexpr int64_t head_dim = 128;
constexpr double base = 500000;

std::string layout_name(PairLayout layout) {
  return layout == PairLayout::half_split ? "half_split" : "interleaved";
}

Plan make_rotary_plan(PairLayout layout) {
  return make_plan({Rotary{head_dim, {}, 0, layout, base, DefaultSchedule{}}}, max_position + 1)
      .value();
}

/// Turns one token's heads in double precision and looks whether `got` is that, to the rounding of
/// its type.
Status check_token(const Plan& plan, const Heads& heads, const float* before, const float* got,
                   int64_t position) {
  const double unit = heads.dtype() == DType::float32    ? 0x1p-24
                      : heads.dtype() == DType::bfloat16 ? 0x1p-8
                                                         : 0x1p-11;
  const bool halves = plan.rotations.front().layout == PairLayout::half_split;
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    // The schedule is none, so a pair's frequency is a power of the base.
    const Real w = pow(Real(base), Real(-2.0 * static_cast<double>(i)) / Real(double{head_dim}));
    const CosSin turn = exact_cos_sin(w, static_cast<double>(position));
    const int64_t a = halves ? i : 2 * i;
    const int64_t b = halves ? i + head_dim / 2 : 2 * i + 1;
    for (int64_t head = 0; head < heads.heads(); ++head) {
      const int64_t at = head * head_dim;
      const double x = double{before[at + a]};
      const double y = double{before[at + b]};
      const double size = std::hypot(x, y);
      const double tolerance = (unit + 3e-7) * size;
      const double error = std::max(std::fabs(x * turn.cos - y * turn.sin - double{got[at + a]}),
                                    std::fabs(y * turn.cos + x * turn.sin - double{got[at + b]}));
      if (!(error <= tolerance)) {
        return Error{ErrorKind::bad_input,
                     fmt::format("position {}, head {}, pair {}: off by {:.3g}, expected at most "
                                 "{:.3g}",
                                 position, head, i, error, tolerance)};
      }
    }
  }
  return {};
}

/// Rotates a copy at several places of the number line and checks tokens of it.
Status check_rotation(const Plan& plan, DType dtype, int64_t length, int64_t num_heads) {
  const std::vector<int64_t> starts = {0, 4095, 131071, 1048575, max_position + 1 - length};
  for (const int64_t start : starts) {
    Heads heads(dtype, length, num_heads, head_dim);
    const std::vector<float> before = heads.values();
    HODO_RETURN_IF_ERROR(rotate(plan, heads.view(), PositionView::range(start)));
    const std::vector<float> got = heads.values();
    const int64_t step = std::max<int64_t>(1, (length - 1) / 4);
    for (int64_t token = 0; token < length; token += step) {
      const int64_t at = token * num_heads * head_dim;
      HODO_RETURN_IF_ERROR(
          check_token(plan, heads, before.data() + at, got.data() + at, start + token));
    }
  }
  return {};
}

struct Case {
  std::string name;
  DType dtype;
  PairLayout layout;
  int64_t length;
  int64_t heads;
  double target;
};

/// Rotation in place beside a multiplication in place of the same buffer.
Benchmark throughput(const Case& c) {
  const Plan plan = make_rotary_plan(c.layout);
  auto heads = std::make_shared<Heads>(c.dtype, c.length, c.heads, head_dim);
  Benchmark benchmark;
  benchmark.name = c.name;
  benchmark.unit = "GB/s";
  benchmark.limit_name = "in-place scale";
  benchmark.work = 2e-9 * static_cast<double>(heads->count() * dtype_size(c.dtype));
  benchmark.target = c.target;
  benchmark.check = [plan, c] { return check_rotation(plan, c.dtype, c.length, c.heads); };
  benchmark.run = [plan, heads] {
    if (!rotate(plan, heads->view(), PositionView::range(1000)).ok()) std::abort();
  };
  benchmark.run_limit = [heads] {
    scale_in_place(heads->dtype(), heads->data(), heads->count(), 1.0F);
  };
  return benchmark;
}

/// One token of a decoder, everything included.
Benchmark one_token(PairLayout layout) {
  constexpr int64_t num_heads = 32;
  Benchmark benchmark =
      throughput({fmt::format("rotate/one_token_32_heads/{}", layout_name(layout)), DType::float32,
                  layout, 1, num_heads, 0.25});
  benchmark.unit = "us";
  benchmark.work = 1e6;
  benchmark.target_of = TargetOf::value_at_most;
  return benchmark;
}

/// The farthest position beside the first one.
Benchmark far_position(PairLayout layout) {
  constexpr int64_t length = 256;
  Benchmark benchmark = throughput({fmt::format("rotate/far_position/{}", layout_name(layout)),
                                    DType::float32, layout, length, 8, 1.05});
  const Plan plan = make_rotary_plan(layout);
  auto heads = std::make_shared<Heads>(DType::float32, length, 8, head_dim);
  const auto rotate_from = [plan, heads](int64_t first) {
    return [plan, heads, first] {
      if (!rotate(plan, heads->view(), PositionView::range(first)).ok()) std::abort();
    };
  };
  benchmark.unit = "us";
  benchmark.work = 1e6;
  benchmark.limit_name = "position 0";
  benchmark.target_of = TargetOf::slowdown_at_most;
  benchmark.run = rotate_from(max_position + 1 - length);
  benchmark.run_limit = rotate_from(0);
  return benchmark;
}

std::vector<std::function<Benchmark()>> benchmarks() {
  std::vector<std::function<Benchmark()>> list;
  for (const PairLayout layout : {PairLayout::half_split, PairLayout::interleaved}) {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      const Case memory{
          fmt::format("rotate/q_1x4096x32x128/{}/{}", dtype_name(dtype), layout_name(layout)),
          dtype,
          layout,
          4096,
          32,
          dtype == DType::float32 ? 0.95 : 0.88};
      list.emplace_back([memory] { return throughput(memory); });
    }
    const Case cache{fmt::format("rotate/k_1x256x8x128/float32/{}", layout_name(layout)),
                     DType::float32,
                     layout,
                     256,
                     8,
                     0.80};
    list.emplace_back([cache] { return throughput(cache); });
    list.emplace_back([layout] { return one_token(layout); });
    list.emplace_back([layout] { return far_position(layout); });
  }
  return list;
}

const BenchmarkRegistration registered({"rotate", "rotation of q and k in place", benchmarks});

}  // namespace
}  // namespace hodometer::cli
