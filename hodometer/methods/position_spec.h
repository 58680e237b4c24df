#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"
#include "hodometer/methods/alibi.h"
#include "hodometer/methods/axial_rotary.h"
#include "hodometer/methods/learned.h"
#include "hodometer/methods/logit_scale.h"
#include "hodometer/methods/mrope.h"
#include "hodometer/methods/nope.h"
#include "hodometer/methods/rotary.h"
#include "hodometer/methods/shaw.h"
#include "hodometer/methods/sinusoidal.h"
#include "hodometer/methods/t5_bias.h"
#include "hodometer/methods/xpos.h"

namespace hodometer {

/// The one list of methods.
using Method =
    std::variant<Nope, Sinusoidal, Learned, Alibi, T5Bias, Shaw, Rotary, Mrope, AxialRotary, Xpos>;
constexpr std::string_view tag_key(std::type_identity<Method>) { return "method"; }

/// A position method as data: what is done about order, and with which numbers.
struct PositionSpec {
  Method method = {};
  std::vector<LogitScaleRule> logit_scale = {};

  static constexpr auto fields() {
    return std::tuple{
        inlined(&PositionSpec::method),
        optional("logit_scale", &PositionSpec::logit_scale, "", "rules that multiply the score")};
  }
};

/// Whether the numbers make sense. Errors name the member and its value.
Status check(const PositionSpec& spec);

/// What the method does, in double precision. `context_length` is the largest position + 1; only
/// schedules that look at the length read it. Fails as check() does, for a length outside 1 to
/// 2^31, and where numbers that are each in range give a frequency or a magnitude that is not.
Result<std::vector<Action>> actions(const PositionSpec& spec, int64_t context_length);

/// The name of the method: "rotary", "alibi", ...
std::string_view method_name(const PositionSpec& spec);

/// A spec from its text form, a JSON object such as {"method":"alibi","num_heads":12}. Unknown
/// members, missing ones, wrong types and values out of range are errors that name the JSON path.
Result<PositionSpec> parse_spec(std::string_view json);

/// The text form: one line of JSON, with every member that differs from its default.
/// parse_spec(spec_text(spec)) gives the same spec.
std::string spec_text(const PositionSpec& spec);

}  // namespace hodometer
