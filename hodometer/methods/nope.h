#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

namespace hodometer {

/// No positional encoding. A causal mask alone still lets order leak in. Source: Kazemnejad et al.
/// 2023.
struct Nope {
  static constexpr std::string_view name = "nope";
  static constexpr auto fields() { return std::tuple{}; }
};

Status check(const Nope& spec);
std::vector<Action> actions(const Nope& spec, int64_t context_length);

}  // namespace hodometer
