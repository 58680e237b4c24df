#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace hodometer {

/// A reference to something callable as void(int64_t task): no allocation, no ownership.
class TaskRef {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, TaskRef>)
  TaskRef(F& f)  // NOLINT: implicit by design
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, int64_t task) { (*static_cast<F*>(object))(task); }) {}
  void operator()(int64_t task) const { call_(object_, task); }

 private:
  void* object_;
  void (*call_)(void*, int64_t);
};

/// Where independent tasks run. Bring your own pool by deriving from it.
///
/// No result of this library depends on the number of threads or on the order of tasks.
class Executor {
 public:
  virtual ~Executor() = default;
  /// How many tasks may run at once; at least 1.
  virtual int threads() const = 0;
  /// Runs body(0), ..., body(tasks - 1), in any order, and returns when all are done.
  virtual void run(int64_t tasks, TaskRef body) = 0;
};

/// Runs every task on the calling thread. Never allocates.
Executor& serial_executor();

/// oneTBB's pool, limited to `threads` (0: as many as the machine has).
std::unique_ptr<Executor> make_executor(int threads);

}  // namespace hodometer
