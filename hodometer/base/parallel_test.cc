#include "hodometer/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace hodometer {
namespace {

TEST(Parallel, EveryTaskRunsExactlyOnce) {
  for (int threads : {0, 1, 2, 5}) {
    const auto executor = make_executor(threads);
    EXPECT_GE(executor->threads(), 1);
    std::vector<std::atomic<int>> seen(1000);
    auto body = [&](int64_t task) { seen[static_cast<size_t>(task)]++; };
    executor->run(1000, body);
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, NoTasksIsNoWork) {
  int calls = 0;
  auto body = [&](int64_t) { ++calls; };
  serial_executor().run(0, body);
  make_executor(2)->run(0, body);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace hodometer
