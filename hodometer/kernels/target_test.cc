#include "hodometer/kernels/target.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "hodometer/kernels/convert.h"
#include "hodometer/kernels/highway_config.h"
#include "hwy/highway.h"

namespace hodometer {
namespace {

// Each of these runs in a process of its own (a death test), for the variable is read only once.
int run_with(const char* target) {
  setenv("HODO_TARGET", target, 1);
  const Status status = check_target_request();
  float out = 0;
  const uint16_t one = 0x3F80;
  to_float32(DType::bfloat16, &one, &out, 1);
  if (out != 1.0f) return 3;
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 2;
  }
  return target_name() == target ? 0 : 1;
}

class TargetRequest : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(TargetRequest, NamedTargetIsTaken) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const char* name = hwy::TargetName(target);
    EXPECT_EXIT(std::exit(run_with(name)), testing::ExitedWithCode(0), "") << name;
  }
}

TEST_F(TargetRequest, UnknownTargetIsReportedAndKernelsStillRun) {
  EXPECT_EXIT(std::exit(run_with("AVX9")), testing::ExitedWithCode(2),
              "HODO_TARGET: no instruction set \"AVX9\".*expected one of");
  EXPECT_EXIT(std::exit(run_with("avx2")), testing::ExitedWithCode(2), "\"avx2\"");
}

TEST(Target, NameIsTheBestOfTheSupported) {
  ASSERT_FALSE(supported_target_names().empty());
  EXPECT_EQ(target_name(), supported_target_names().front());
}

}  // namespace
}  // namespace hodometer
