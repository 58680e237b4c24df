#include "hodometer/base/parallel.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>

namespace hodometer {
namespace {

class Serial final : public Executor {
 public:
  int threads() const override { return 1; }
  void run(int64_t tasks, TaskRef body) override {
    for (int64_t task = 0; task < tasks; ++task) body(task);
  }
};

class Tbb final : public Executor {
 public:
  // An arena wider than the machine has oneTBB print a warning; work is still split as was asked.
  explicit Tbb(int threads)
      : threads_(threads > 0 ? threads : tbb::info::default_concurrency()),
        arena_(std::min(threads_, tbb::info::default_concurrency())) {}
  int threads() const override { return threads_; }
  void run(int64_t tasks, TaskRef body) override {
    arena_.execute([&] { tbb::parallel_for(int64_t{0}, tasks, body); });
  }

 private:
  int threads_;
  tbb::task_arena arena_;
};

}  // namespace

Executor& serial_executor() {
  static Serial serial;
  return serial;
}

std::unique_ptr<Executor> make_executor(int threads) {
  if (threads == 1) return std::make_unique<Serial>();
  return std::make_unique<Tbb>(threads);
}

}  // namespace hodometer
