#pragma once

// Private: what is behind the opaque types of the C interface. Not installed.

#include <memory>

#include "hodometer/base/parallel.h"
#include "hodometer/base/tensor_view.h"
#include "hodometer/capi/guard-inl.h"
#include "hodometer/ops/add_rows.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/position_view.h"

struct hodo_plan {
  std::shared_ptr<const hodometer::Plan> plan;  ///< also of the caches that were made with it
};

struct hodo_executor {
  std::unique_ptr<hodometer::Executor> executor;
};

namespace hodometer::capi {

inline Executor& executor_of(hodo_executor* executor) {
  return executor == nullptr ? serial_executor() : *executor->executor;
}

Result<PositionView> view_of(std::string_view operation, const hodo_positions* positions);

inline Result<HeadsView> heads_of(std::string_view operation, const hodo_heads& heads) {
  DType dtype{};
  HODO_RETURN_IF_ERROR(to_enum(operation, "dtype", heads.dtype, 3, dtype));
  return HeadsView{heads.data,       dtype,          heads.batch,        heads.length,
                   heads.heads,      heads.head_dim, heads.batch_stride, heads.length_stride,
                   heads.head_stride};
}

inline Result<EmbeddingsView> embeddings_of(std::string_view operation, const hodo_embeddings& x) {
  DType dtype{};
  HODO_RETURN_IF_ERROR(to_enum(operation, "dtype", x.dtype, 3, dtype));
  return EmbeddingsView{x.data, dtype, x.batch, x.length, x.dim, x.batch_stride, x.length_stride};
}

}  // namespace hodometer::capi
