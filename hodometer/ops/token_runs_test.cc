#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "hodometer/ops/testing-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer::internal {
namespace {

TEST(TokenRuns, VisitEveryTokenOnce) {
  const auto parallel = make_executor(3);
  for (const int64_t batch : {1, 2, 7}) {
    for (const int64_t length : {1, 2, 100}) {
      for (const int64_t most : {int64_t{1}, int64_t{3}, INT64_MAX}) {
        for (Executor* executor : {&serial_executor(), parallel.get()}) {
          std::mutex mutex;
          std::map<std::pair<int64_t, int64_t>, int> seen;
          for_each_run(batch, length, 4096, most, *executor, [&](const TokenRun& run) {
            const std::lock_guard lock(mutex);
            EXPECT_LE(run.count, most);
            for (int64_t i = 0; i < run.count; ++i) {
              const TokenRun one = run.part(i, 1);
              ++seen[{one.sequence, one.token}];
              // The element of token i, by either road.
              EXPECT_EQ(run.offset(1000, 7) + i * run.stride(1000, 7), one.offset(1000, 7));
            }
          });
          EXPECT_EQ(static_cast<int64_t>(seen.size()), batch * length);
          for (const auto& [token, count] : seen) EXPECT_EQ(count, 1);
        }
      }
    }
  }
}

// An executor that counts: small work must not wake it.
class Counting final : public Executor {
 public:
  int threads() const override { return 4; }
  void run(int64_t tasks, TaskRef body) override {
    ++calls;
    for (int64_t task = 0; task < tasks; ++task) body(task);
  }
  int calls = 0;
};

TEST(TokenRuns, SmallWorkStaysOnTheCallersThread) {
  Counting executor;
  for_each_run(1, 1, 1 << 20, INT64_MAX, executor, [](const TokenRun&) {});
  for_each_run(4, 16, 1024, INT64_MAX, executor, [](const TokenRun&) {});
  EXPECT_EQ(executor.calls, 0);
  for_each_run(4, 17, 1024, INT64_MAX, executor, [](const TokenRun&) {});
  EXPECT_EQ(executor.calls, 1);
}

TEST(TokenRuns, PositionsOfARunAreThoseOfItsTokens) {
  const std::vector<int64_t> ids{10, 11, 12, 20, 21, 22};
  const std::vector<double> numbers{0.5, 1.5, 2.5, 3.5, 4.5, 5.5};
  const std::vector<int64_t> starts{100, 200};
  const PositionView views[] = {
      PositionView::range(7), PositionView::starts(starts), PositionView::ids(ids.data(), 2, 3),
      PositionView::shared_ids({ids.data(), 3}), PositionView::coordinates(numbers.data(), 1, 2, 3)};
  for (const PositionView& view : views) {
    for (const TokenRun& run : {TokenRun{1, 1, 2, false}, TokenRun{0, 0, 2, true}}) {
      const auto positions = positions_of(view, run);
      for (int64_t i = 0; i < run.count; ++i) {
        const TokenRun one = run.part(i, 1);
        double found = 0;
        if (const auto* from = std::get_if<PositionRun>(&positions)) {
          found = static_cast<double>(from->first + i);
        } else if (const auto* list = std::get_if<PositionList>(&positions)) {
          found = static_cast<double>(list->ids[i * list->token_stride]);
        } else {
          const auto& fractions = std::get<FractionalList>(positions);
          found = fractions.ids[i * fractions.token_stride];
        }
        EXPECT_EQ(found, position_at(view, 0, one.sequence, one.token));
      }
    }
  }
}

TEST(TokenRuns, ExtentsThatDoNotFitAreRefused) {
  int data = 0;
  EXPECT_TRUE(check_extents("op", &data, 4, {{"a", 2, INT64_MAX / 8}}).ok());
  EXPECT_FALSE(check_extents("op", &data, 4, {{"a", 2, INT64_MAX / 2}}).ok());
  EXPECT_FALSE(check_extents("op", &data, 4, {{"a", 2, INT64_MIN}}).ok());
  EXPECT_FALSE(check_extents("op", &data, 4, {{"a", INT64_MAX, 0}, {"b", 2, 0}}).ok());
  EXPECT_TRUE(check_extents("op", nullptr, 4, {{"a", 0, 1}, {"b", INT64_MAX, 1}}).ok());
}

}  // namespace
}  // namespace hodometer::internal
