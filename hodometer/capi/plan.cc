#include "hodometer/capi/plan-inl.h"

#include <fmt/format.h>

#include "hodometer/ops/make_table.h"

namespace hodometer::capi {
Result<PositionView> view_of(std::string_view operation, const hodo_positions* positions) {
  HODO_RETURN_IF_ERROR(check_given(operation, "positions", positions));
  const hodo_positions& p = *positions;
  const auto text_on_axes = [&](const PositionView& view) { return view.same_on_axes(p.num_axes); };
  switch (p.kind) {
    case HODO_POSITIONS_RANGE:
      return text_on_axes(PositionView::range(p.first));
    case HODO_POSITIONS_STARTS:
      return text_on_axes(
          PositionView::strided(PositionView::Starts{p.ids, p.batch, p.batch_stride}));
    case HODO_POSITIONS_IDS:
      return PositionView::strided(PositionView::Ids{p.ids, p.batch, p.length, p.axis_stride,
                                                     p.batch_stride, p.length_stride},
                                   p.num_axes);
    case HODO_POSITIONS_COORDINATES:
      return PositionView::strided(
          PositionView::Coordinates{p.coordinates, p.batch, p.length, p.axis_stride, p.batch_stride,
                                    p.length_stride},
          p.num_axes);
  }
  return Error{ErrorKind::usage, fmt::format("{}: the kind of the positions is {}: expected 0 to 3",
                                             operation, static_cast<int>(p.kind))};
}

}  // namespace hodometer::capi

using namespace hodometer;

extern "C" {

const char* hodo_version(void) { return HODOMETER_VERSION; }

hodo_status hodo_spec_normalize(const char* spec_json, char** text) {
  return capi::guard([&]() -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given("hodo_spec_normalize", "spec_json", spec_json));
    HODO_RETURN_IF_ERROR(capi::check_given("hodo_spec_normalize", "text", text));
    HODO_ASSIGN(const PositionSpec spec, parse_spec(spec_json));
    *text = capi::copy_of(spec_text(spec));
    return {};
  });
}

hodo_status hodo_plan_create(const char* spec_json, int64_t context_length, hodo_angles angles,
                             hodo_plan** plan) {
  return capi::guard([&]() -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given("hodo_plan_create", "spec_json", spec_json));
    HODO_RETURN_IF_ERROR(capi::check_given("hodo_plan_create", "plan", plan));
    AngleMode mode{};
    HODO_RETURN_IF_ERROR(capi::to_enum("hodo_plan_create", "angles", angles, 2, mode));
    HODO_ASSIGN(const PositionSpec spec, parse_spec(spec_json));
    HODO_ASSIGN(Plan made, make_plan(spec, context_length, mode));
    *plan = new hodo_plan{std::make_shared<const Plan>(std::move(made))};
    return {};
  });
}

void hodo_plan_free(hodo_plan* plan) { delete plan; }

int64_t hodo_plan_head_dim(const hodo_plan* plan) {
  return plan == nullptr ? 0 : plan->plan->head_dim();
}
int64_t hodo_plan_num_axes(const hodo_plan* plan) {
  return plan == nullptr ? 0 : plan->plan->num_axes();
}
int64_t hodo_plan_table_pairs(const hodo_plan* plan) {
  return plan == nullptr ? 0 : table_pairs(*plan->plan);
}
double hodo_plan_logit_scale(const hodo_plan* plan, int64_t query_position) {
  return plan == nullptr ? 0 : plan->plan->logit_scale_at(query_position);
}

hodo_status hodo_executor_create(int32_t threads, hodo_executor** executor) {
  return capi::guard([&]() -> Status {
    HODO_RETURN_IF_ERROR(capi::check_given("hodo_executor_create", "executor", executor));
    if (threads < 0) {
      return Error{ErrorKind::usage,
                   fmt::format("hodo_executor_create: threads is {}: expected 0 or more", threads)};
    }
    *executor = new hodo_executor{make_executor(threads)};
    return {};
  });
}

void hodo_executor_free(hodo_executor* executor) { delete executor; }

hodo_positions hodo_positions_range(int64_t first, int64_t num_axes) {
  return {HODO_POSITIONS_RANGE, num_axes, first, nullptr, nullptr, 0, 0, 0, 0, 0};
}
hodo_positions hodo_positions_starts(const int64_t* starts, int64_t batch, int64_t num_axes) {
  return {HODO_POSITIONS_STARTS, num_axes, 0, starts, nullptr, batch, 0, 0, 1, 0};
}
hodo_positions hodo_positions_ids(const int64_t* ids, int64_t num_axes, int64_t batch,
                                  int64_t length) {
  // Unsigned: a size that is no size is refused where the positions are used.
  const auto plane =
      static_cast<int64_t>(static_cast<uint64_t>(batch) * static_cast<uint64_t>(length));
  return {HODO_POSITIONS_IDS, num_axes, 0, ids, nullptr, batch, length, plane, length, 1};
}
hodo_positions hodo_positions_coordinates(const double* coordinates, int64_t num_axes,
                                          int64_t batch, int64_t length) {
  const auto plane =
      static_cast<int64_t>(static_cast<uint64_t>(batch) * static_cast<uint64_t>(length));
  return {HODO_POSITIONS_COORDINATES,
          num_axes,
          0,
          nullptr,
          coordinates,
          batch,
          length,
          plane,
          length,
          1};
}

}  // extern "C"
