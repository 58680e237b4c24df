#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hodometer/capi/plan-inl.h"
#include "hodometer/ops/add_rows.h"
#include "hodometer/ops/bias_rows.h"
#include "hodometer/ops/make_table.h"
#include "hodometer/ops/rotate.h"

using namespace hodometer;

namespace {

Status role_of(std::string_view operation, hodo_role role, std::optional<HeadRole>& out) {
  hodo_role said{};
  HODO_RETURN_IF_ERROR(capi::to_enum(operation, "role", role, 3, said));
  if (said == HODO_QUERY) out = HeadRole::query;
  if (said == HODO_KEY) out = HeadRole::key;
  return {};
}

Result<RotateOptions> options_of(std::string_view operation, hodo_direction direction,
                                 hodo_role role) {
  RotateOptions options;
  HODO_RETURN_IF_ERROR(capi::to_enum(operation, "direction", direction, 3, options.direction));
  HODO_RETURN_IF_ERROR(role_of(operation, role, options.role));
  return options;
}

/// One at a time on the stack: q and k of a layer, and a few more, need no memory.
constexpr size_t few_tensors = 8;

}  // namespace

extern "C" {

hodo_status hodo_rotate(const hodo_plan* plan, const hodo_heads* tensors, size_t count,
                        const hodo_positions* positions, hodo_direction direction, hodo_role role,
                        hodo_executor* executor) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_rotate";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    std::span<const hodo_heads> given;
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "tensors", tensors, count, given));
    HODO_ASSIGN(const PositionView view, capi::view_of(operation, positions));
    HODO_ASSIGN(const RotateOptions options, options_of(operation, direction, role));
    std::array<HeadsView, few_tensors> few;
    std::vector<HeadsView> many(count > few_tensors ? count : 0);
    const std::span<HeadsView> views =
        count > few_tensors ? std::span(many) : std::span(few).first(count);
    for (size_t i = 0; i < count; ++i) {
      HODO_ASSIGN(views[i], capi::heads_of(operation, given[i]));
    }
    return rotate(*plan->plan, views, view, options, capi::executor_of(executor));
  });
}

hodo_status hodo_rotate_to(const hodo_plan* plan, const hodo_heads* from, const hodo_heads* to,
                           const hodo_positions* positions, hodo_direction direction,
                           hodo_role role, hodo_executor* executor) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_rotate_to";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "from", from));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "to", to));
    HODO_ASSIGN(const PositionView view, capi::view_of(operation, positions));
    HODO_ASSIGN(const RotateOptions options, options_of(operation, direction, role));
    HODO_ASSIGN(const HeadsView source, capi::heads_of(operation, *from));
    HODO_ASSIGN(const HeadsView target, capi::heads_of(operation, *to));
    return rotate_to(*plan->plan, source, target, view, options, capi::executor_of(executor));
  });
}

hodo_status hodo_rows_add(const hodo_plan* plan, const hodo_embeddings* x,
                          const hodo_positions* positions, const hodo_learned_table* table,
                          hodo_executor* executor) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_rows_add";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "x", x));
    HODO_ASSIGN(const PositionView view, capi::view_of(operation, positions));
    HODO_ASSIGN(const EmbeddingsView embeddings, capi::embeddings_of(operation, *x));
    std::optional<LearnedTable> learned;
    if (table != nullptr) {
      learned = LearnedTable{table->data, table->rows, table->dim, table->row_stride};
    }
    return add_rows(*plan->plan, embeddings, view, learned, capi::executor_of(executor));
  });
}

hodo_status hodo_table_make(const hodo_plan* plan, const hodo_positions* positions, int64_t length,
                            hodo_role role, float* cos, float* sin, hodo_executor* executor) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_table_make";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    HODO_ASSIGN(const PositionView view, capi::view_of(operation, positions));
    std::optional<HeadRole> said;
    HODO_RETURN_IF_ERROR(role_of(operation, role, said));
    const int64_t pairs = table_pairs(*plan->plan);
    if (length < 0 || (pairs > 0 && length > INT64_MAX / (pairs * int64_t{sizeof(float)}))) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: length is {}: expected a table in memory", operation, length)};
    }
    const auto size = static_cast<size_t>(length * pairs);
    std::span<float> cosines, sines;
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "cos", cos, size, cosines));
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "sin", sin, size, sines));
    return make_table(*plan->plan, view, length, cosines, sines, said, capi::executor_of(executor));
  });
}

hodo_status hodo_bias_rows(const hodo_plan* plan, const float* table, size_t table_size,
                           const int64_t* query_positions, size_t num_queries,
                           const int64_t* key_positions, size_t num_keys, float* bias,
                           size_t bias_size) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_bias_rows";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    std::span<const float> learned;
    std::span<const int64_t> queries, keys;
    std::span<float> out;
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "table", table, table_size, learned));
    HODO_RETURN_IF_ERROR(
        capi::to_span(operation, "query_positions", query_positions, num_queries, queries));
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "key_positions", key_positions, num_keys, keys));
    HODO_RETURN_IF_ERROR(capi::to_span(operation, "bias", bias, bias_size, out));
    HODO_ASSIGN(const std::vector<float> rows, bias_rows(*plan->plan, learned, queries, keys));
    if (rows.size() != bias_size) {
      return Error{ErrorKind::usage, fmt::format("{}: bias_size is {}: expected {}", operation,
                                                 bias_size, rows.size())};
    }
    std::copy(rows.begin(), rows.end(), out.begin());
    return {};
  });
}

}  // extern "C"
