#include "hodometer/methods/position_spec.h"

#include <fmt/format.h>

#include <cmath>

#include "hodometer/base/check.h"
#include "hodometer/base/json-inl.h"

namespace hodometer {
namespace {

// What a float32 factor can multiply and undo.
constexpr double least_magnitude = 0x1p-126;

Status check_frequencies(const PositionSpec& spec, const std::vector<Real>& inv_freq) {
  for (size_t pair = 0; pair < inv_freq.size(); ++pair) {
    const double w = inv_freq[pair].to_double();
    if (std::abs(w) <= 0x1p53) continue;
    return Error{ErrorKind::bad_input,
                 fmt::format("{}: pair {} turns by {} radians per position: expected a base and a "
                             "schedule that give finite frequencies below 2^53",
                             method_name(spec), pair, w)};
  }
  return {};
}

// Numbers that are each in range can give a result that is not.
Status check_result(const PositionSpec& spec, const Action& action) {
  if (const auto* row = std::get_if<AddRow>(&action); row != nullptr && row->sinusoid) {
    return check_frequencies(spec, row->sinusoid->inv_freq);
  }
  const auto* rotation = std::get_if<RotatePairs>(&action);
  if (rotation == nullptr) return {};
  if (!(rotation->magnitude >= least_magnitude && rotation->magnitude <= 1 / least_magnitude)) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{}: cos and sin are multiplied by {}: expected a factor that is a "
                             "float32, and its reciprocal too",
                             method_name(spec), rotation->magnitude)};
  }
  return check_frequencies(spec, rotation->inv_freq);
}

}  // namespace

Status check(const PositionSpec& spec) {
  HODO_RETURN_IF_ERROR(std::visit([](const auto& method) { return check(method); }, spec.method));
  for (const LogitScaleRule& rule : spec.logit_scale) HODO_RETURN_IF_ERROR(check(rule));
  return {};
}

Result<std::vector<Action>> actions(const PositionSpec& spec, int64_t context_length) {
  HODO_RETURN_IF_ERROR(check(spec));
  HODO_RETURN_IF_ERROR(check_between("context_length", context_length, 1, max_rows));
  std::vector<Action> list =
      std::visit([&](const auto& method) { return actions(method, context_length); }, spec.method);
  for (const Action& action : list) HODO_RETURN_IF_ERROR(check_result(spec, action));
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
