#include "hodometer/ops/attention_backward.h"

#include "hodometer/capi/attention-inl.h"
#include "hodometer/ops/add_rows_backward.h"

using namespace hodometer;

namespace {

Status to_heads(std::string_view operation, const hodo_heads* from, HeadsView& to) {
  if (from == nullptr) return {};
  HODO_ASSIGN(to, capi::heads_of(operation, *from));
  return {};
}

Result<AttentionGradients> gradients_of(std::string_view operation,
                                        const hodo_attention_gradients& from) {
  AttentionGradients to;
  HODO_RETURN_IF_ERROR(to_heads(operation, from.q, to.q));
  HODO_RETURN_IF_ERROR(to_heads(operation, from.k, to.k));
  HODO_RETURN_IF_ERROR(to_heads(operation, from.v, to.v));
  HODO_RETURN_IF_ERROR(
      capi::to_span(operation, "gradients.buckets", from.buckets, from.buckets_size, to.buckets));
  HODO_RETURN_IF_ERROR(capi::to_span(operation, "gradients.key_rows", from.key_rows,
                                     from.key_rows_size, to.key_rows));
  HODO_RETURN_IF_ERROR(capi::to_span(operation, "gradients.value_rows", from.value_rows,
                                     from.value_rows_size, to.value_rows));
  HODO_RETURN_IF_ERROR(
      capi::to_span(operation, "gradients.sinks", from.sinks, from.sinks_size, to.sinks));
  return to;
}

}  // namespace

extern "C" {

hodo_status hodo_attention_backward(const hodo_plan* plan, const hodo_heads* q, const hodo_heads* k,
                                    const hodo_heads* v, const hodo_heads* out,
                                    const hodo_heads* out_gradient, const float* log_sums,
                                    const hodo_attention_gradients* gradients,
                                    const hodo_attention_options* options,
                                    hodo_executor* executor) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_attention_backward";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "q", q));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "k", k));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "v", v));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "out", out));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "out_gradient", out_gradient));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "log_sums", log_sums));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "gradients", gradients));
    HODO_ASSIGN(const HeadsView queries, capi::heads_of(operation, *q));
    HODO_ASSIGN(const HeadsView keys, capi::heads_of(operation, *k));
    HODO_ASSIGN(const HeadsView values, capi::heads_of(operation, *v));
    HODO_ASSIGN(const HeadsView result, capi::heads_of(operation, *out));
    HODO_ASSIGN(const HeadsView of_result, capi::heads_of(operation, *out_gradient));
    HODO_ASSIGN(const AttentionGradients wanted, gradients_of(operation, *gradients));
    capi::AttentionSegments segments;
    HODO_ASSIGN(const AttentionOptions said,
                capi::attention_options_of(operation, options, segments));
    return attention_backward(*plan->plan, queries, keys, values, result, of_result, log_sums,
                              wanted, said, capi::executor_of(executor));
  });
}

hodo_status hodo_rows_add_backward(const hodo_plan* plan, const hodo_embeddings* gradient,
                                   const hodo_positions* positions,
                                   const hodo_learned_table_gradient* table,
                                   hodo_executor* executor) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_rows_add_backward";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "gradient", gradient));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "table", table));
    HODO_ASSIGN(const PositionView view, capi::view_of(operation, positions));
    HODO_ASSIGN(const EmbeddingsView x, capi::embeddings_of(operation, *gradient));
    return add_rows_backward(*plan->plan, x, view,
                             {table->data, table->rows, table->dim, table->row_stride},
                             capi::executor_of(executor));
  });
}

}  // extern "C"
