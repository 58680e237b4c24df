#pragma once

#include <gtest/gtest.h>

#include "hodometer/kernels/highway_config.h"
#include "hodometer/kernels/target.h"
#include "hwy/highway.h"

namespace hodometer {

/// Runs body() once for every instruction set that was built and that this machine has.
template <class Body>
void on_every_target(const Body& body) {
  ASSERT_TRUE(check_target_request().ok()) << check_target_request().error().message;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    body();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

}  // namespace hodometer
