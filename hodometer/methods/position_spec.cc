#include "hodometer/methods/position_spec.h"

#include "hodometer/base/json-inl.h"

namespace hodometer {

Status check(const PositionSpec& spec) {
  HODO_RETURN_IF_ERROR(std::visit([](const auto& method) { return check(method); }, spec.method));
  for (const LogitScaleRule& rule : spec.logit_scale) HODO_RETURN_IF_ERROR(check(rule));
  return {};
}

Result<std::vector<Action>> actions(const PositionSpec& spec, int64_t context_length) {
  HODO_RETURN_IF_ERROR(check(spec));
  std::vector<Action> list =
      std::visit([&](const auto& method) { return actions(method, context_length); }, spec.method);
  for (const LogitScaleRule& rule : spec.logit_scale) list.push_back(logit_scale(rule));
  return list;
}

std::string_view method_name(const PositionSpec& spec) {
  return std::visit([](const auto& method) { return method.name; }, spec.method);
}

Result<PositionSpec> parse_spec(std::string_view json) {
  HODO_ASSIGN(const Json object, parse_json(json, "spec"));
  PositionSpec spec;
  HODO_RETURN_IF_ERROR(read_json(object, "spec", spec));
  if (const Status checked = check(spec); !checked.ok()) {
    return Error{checked.error().kind, "spec: " + checked.error().message};
  }
  return spec;
}

std::string spec_text(const PositionSpec& spec) { return write_json(spec).dump(); }

}  // namespace hodometer
