#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "hodometer/base/json-inl.h"
#include "hodometer/base/result.h"

namespace hodometer::cli {

/// What a target is held against.
enum class TargetOf : uint8_t {
  ratio_at_least,    ///< value / limit, both rates
  value_at_least,    ///< the value itself, a rate
  value_at_most,     ///< the value itself, a time
  slowdown_at_most,  ///< value / limit, both times
};

/// What time is counted.
enum class Clock : uint8_t {
  thread,  ///< the calling thread's own: what others do on the machine does not count
  wall,    ///< for what runs on several threads
};

/// One measurement: an operation beside the plainest thing that bounds it, on the same memory.
struct Benchmark {
  std::string name;
  std::string unit;        ///< of value and limit: "GB/s", "Mpairs/s", "us"
  std::string limit_name;  ///< "in-place scale"
  double work = 1;         ///< units of work of one call; for rates: value = work / seconds
  double target = 0;
  TargetOf target_of = TargetOf::ratio_at_least;
  Clock clock = Clock::thread;
  /// Whether the answer is right; an error says what is not. Runs before anything is timed.
  std::function<Status()> check;
  std::function<void()> run;
  std::function<void()> run_limit;
};

/// A figure with the one that bounds it: medians over rounds in which both were timed in turn.
struct Measurement {
  std::string name;
  bool correct = false;
  std::string problem;  ///< why it is not
  double value = 0;
  double limit = 0;
  double ratio = 0;  ///< value / limit, median of the rounds
  bool met = false;
};

/// Benchmarks of one topic; a file bench_<topic>.cc registers one, and no other place knows. The
/// benchmarks are made one at a time, for they hold large buffers.
struct BenchmarkTopic {
  std::string_view name;
  std::string_view summary;
  std::vector<std::function<Benchmark()>> (*benchmarks)();
};
struct BenchmarkRegistration {
  explicit BenchmarkRegistration(const BenchmarkTopic& topic);
};
/// Every registered topic, by name.
std::vector<BenchmarkTopic> benchmark_topics();

/// Checks, then times for about `seconds`, but for three rounds at least.
Measurement measure(const Benchmark& benchmark, double seconds);

/// Processor, cores, instruction set and compiler.
Json machine_json();

/// One entry of the documented form.
Json measurement_json(const Benchmark& benchmark, const Measurement& measurement);

}  // namespace hodometer::cli
