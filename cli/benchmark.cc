#include "cli/benchmark.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "hodometer/kernels/target.h"

namespace hodometer::cli {
namespace {

std::vector<BenchmarkTopic>& registry() {
  static std::vector<BenchmarkTopic> list;
  return list;
}

double seconds_now(Clock clock) {
  timespec now{};
  clock_gettime(clock == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Something to time, so many calls at once that they last long enough for the clock.
class Timed {
 public:
  Timed(const std::function<void()>& body, Clock clock, double seconds)
      : body_(body), clock_(clock) {
    body();  // touches memory for the first time
    while (calls_ < (int64_t{1} << 40)) {
      each_ = seconds_per_call();
      if (each_ * static_cast<double>(calls_) >= seconds / 4) break;
      calls_ *= 4;
    }
    calls_ = std::max<int64_t>(1, std::llround(seconds / each_));
  }
  double seconds_per_call() const {
    const double start = seconds_now(clock_);
    for (int64_t i = 0; i < calls_; ++i) body_();
    return std::max(seconds_now(clock_) - start, 1e-12) / static_cast<double>(calls_);
  }
  /// What all calls take, about.
  double seconds() const { return each_ * static_cast<double>(calls_); }

 private:
  const std::function<void()>& body_;
  Clock clock_;
  int64_t calls_ = 1;
  double each_ = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool is_rate(TargetOf target_of) {
  return target_of == TargetOf::ratio_at_least || target_of == TargetOf::value_at_least;
}

bool is_met(const Benchmark& benchmark, const Measurement& measured) {
  switch (benchmark.target_of) {
    case TargetOf::ratio_at_least:
      return measured.ratio >= benchmark.target;
    case TargetOf::value_at_least:
      return measured.value >= benchmark.target;
    case TargetOf::value_at_most:
      return measured.value <= benchmark.target;
    case TargetOf::slowdown_at_most:
      return measured.ratio <= benchmark.target;
  }
  return false;
}

}  // namespace

BenchmarkRegistration::BenchmarkRegistration(const BenchmarkTopic& topic) {
  registry().push_back(topic);
}

std::vector<BenchmarkTopic> benchmark_topics() {
  std::vector<BenchmarkTopic> list = registry();
  std::sort(list.begin(), list.end(),
            [](const BenchmarkTopic& a, const BenchmarkTopic& b) { return a.name < b.name; });
  return list;
}

Measurement measure(const Benchmark& benchmark, double seconds) {
  Measurement result;
  result.name = benchmark.name;
  if (const Status status = benchmark.check(); !status.ok()) {
    result.problem = status.error().message;
    return result;
  }
  result.correct = true;
  constexpr int64_t most_rounds = 15, least_rounds = 3;
  const double slice = std::max(seconds / (2 * most_rounds), 1e-4);
  const Timed operation(benchmark.run, benchmark.clock, slice);
  const Timed bound(benchmark.run_limit, benchmark.clock, slice);
  const auto rounds = std::clamp<int64_t>(
      std::llround(seconds / (operation.seconds() + bound.seconds())), least_rounds, most_rounds);
  std::vector<double> values;
  std::vector<double> limits;
  std::vector<double> ratios;
  for (int64_t round = 0; round < rounds; ++round) {
    const double limit = bound.seconds_per_call();
    const double value = operation.seconds_per_call();
    const bool rate = is_rate(benchmark.target_of);
    limits.push_back(rate ? benchmark.work / limit : benchmark.work * limit);
    values.push_back(rate ? benchmark.work / value : benchmark.work * value);
    ratios.push_back(values.back() / limits.back());
  }
  result.value = median(values);
  result.limit = median(limits);
  result.ratio = median(ratios);
  result.met = is_met(benchmark, result);
  return result;
}

Json machine_json() {
  std::string processor = "unknown";
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    if (!line.starts_with("model name")) continue;
    processor = line.substr(std::min(line.size(), line.find(':') + 2));
    break;
  }
  return {{"processor", processor},
          {"cores", static_cast<int64_t>(std::thread::hardware_concurrency())},
          {"threads", 1},
          {"target", std::string(target_name())},
#ifdef __clang__
          {"compiler", "clang " __clang_version__},
#else
          {"compiler", "g++ " __VERSION__},
#endif
          {"version", HODOMETER_VERSION}};
}

Json measurement_json(const Benchmark& benchmark, const Measurement& measured) {
  Json json = {{"name", benchmark.name}, {"correct", measured.correct}};
  if (!measured.correct) {
    json["problem"] = measured.problem;
    return json;
  }
  const bool of_ratio = benchmark.target_of == TargetOf::ratio_at_least ||
                        benchmark.target_of == TargetOf::slowdown_at_most;
  const bool at_least = is_rate(benchmark.target_of);
  json.update({{"value", measured.value},
               {"unit", benchmark.unit},
               {"limit", measured.limit},
               {"limit_name", benchmark.limit_name},
               {"ratio", measured.ratio},
               {"target", benchmark.target},
               {"target_of", std::string(of_ratio ? "ratio" : "value")},
               {"target_is", std::string(at_least ? "at_least" : "at_most")},
               {"met", measured.met}});
  return json;
}

}  // namespace hodometer::cli
