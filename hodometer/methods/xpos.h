#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/rotary.h"

namespace hodometer {

/// Rotary whose scores also fall with the distance: pair i of a query is multiplied by
/// zeta_i^((position - center) / scale_base), of a key by the inverse, with
/// zeta_i = (2i + 0.4 d) / (1.4 d). Source: Sun et al. 2022 (xPos), eq. 11 and the constants of
/// their code.
///
/// Scores do not depend on the center. It is fixed by the spec, never by the length of a call or
/// a cache, so that keys stay valid.
struct Xpos {
  Rotary rotary;
  double scale_base = 512;
  double center = 0;

  static constexpr std::string_view name = "xpos";
  static constexpr auto fields() {
    return std::tuple_cat(
        std::tuple{inlined(&Xpos::rotary)},
        std::tuple{optional("scale_base", &Xpos::scale_base, "positions", "distance per power"),
                   optional("center", &Xpos::center, "position", "position of magnitude 1")});
  }
};

Status check(const Xpos& spec);
std::vector<Action> actions(const Xpos& spec, int64_t context_length);

}  // namespace hodometer
