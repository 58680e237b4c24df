#include <string>

#include "cli/benchmark.h"
#include "cli/run_hodo_test.h"

namespace hodometer::cli::testing {
namespace {

using nlohmann::json;

TEST(Bench, ChecksAndGivesTheDocumentedForm) {
  const Outcome outcome =
      hodo({"bench", "rotate", "--json", "--seconds", "0.05", "--filter", "one_token"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json document = outcome.json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_GE(document["machine"]["cores"], 1);
  EXPECT_EQ(document["benchmarks"].size(), 2U);
  for (const json& one : document["benchmarks"]) {
    EXPECT_EQ(one["correct"], true);
    EXPECT_EQ(one["unit"], "us");
    EXPECT_EQ(one["target"], 0.25);
    EXPECT_GT(one["value"], 0.0);
    EXPECT_GT(one["limit"], 0.0);
    for (const char* member : {"name", "limit_name", "ratio"}) EXPECT_TRUE(one.contains(member));
  }
}

TEST(Bench, RefusesATargetThatTheMachineLacks) {
  const Outcome outcome = hodo({"bench", "rotate"}, "", {{"HODO_TARGET", "NO_SUCH"}});
  EXPECT_NE(outcome.code, 0);
  EXPECT_TRUE(has(outcome.err, "NO_SUCH"));
}

TEST(Bench, NothingWrongIsTimed) {
  Benchmark benchmark;
  benchmark.name = "wrong";
  bool ran = false;
  benchmark.check = [] { return Error{ErrorKind::bad_input, "off by one"}; };
  benchmark.run = [&] { ran = true; };
  benchmark.run_limit = benchmark.run;
  const Measurement measured = measure(benchmark, 0.01);
  EXPECT_FALSE(measured.correct);
  EXPECT_FALSE(ran);
  EXPECT_EQ(measurement_json(benchmark, measured)["problem"], "off by one");
}

TEST(Bench, RatesAndTimesAreJudgedTheirOwnWay) {
  Benchmark benchmark;
  volatile double sink = 0;
  const auto work = [&sink](int times) {
    return [&sink, times] {
      for (int i = 0; i < times; ++i) sink = sink + 1;
    };
  };
  benchmark.check = [] { return Status(); };
  benchmark.run = work(4000);
  benchmark.run_limit = work(1000);
  benchmark.target = 0.9;
  const Measurement rate = measure(benchmark, 0.05);
  EXPECT_TRUE(rate.correct);
  EXPECT_LT(rate.ratio, 0.5);
  EXPECT_FALSE(rate.met);
  benchmark.target_of = TargetOf::slowdown_at_most;
  const Measurement time = measure(benchmark, 0.05);
  EXPECT_GT(time.ratio, 2.0);
  EXPECT_FALSE(time.met);
  benchmark.target = 1e9;
  EXPECT_TRUE(measure(benchmark, 0.05).met);
}

}  // namespace
}  // namespace hodometer::cli::testing
