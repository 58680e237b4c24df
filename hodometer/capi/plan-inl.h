#pragma once

// Private: what is behind the opaque types of the C interface. Not installed.

#include <memory>

#include "hodometer/base/parallel.h"
#include "hodometer/capi/guard-inl.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/position_view.h"

struct hodo_plan {
  hodometer::Plan plan;
};

struct hodo_executor {
  std::unique_ptr<hodometer::Executor> executor;
};

namespace hodometer::capi {

inline Executor& executor_of(hodo_executor* executor) {
  return executor == nullptr ? serial_executor() : *executor->executor;
}

Result<PositionView> view_of(std::string_view operation, const hodo_positions* positions);

}  // namespace hodometer::capi
