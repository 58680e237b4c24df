#include "hodometer/methods/xpos.h"

#include <fmt/format.h>

#include <cmath>

#include "hodometer/base/check.h"

namespace hodometer {

Status check(const Xpos& spec) {
  HODO_RETURN_IF_ERROR(check(spec.rotary));
  HODO_RETURN_IF_ERROR(check_finite("scale_base", spec.scale_base));
  if (spec.scale_base < 1) {  // a few positions further nothing would be left of a float32
    return Error{ErrorKind::bad_input,
                 fmt::format("scale_base is {}: expected 1 position or more", spec.scale_base)};
  }
  return check_finite("center", spec.center);
}

std::vector<Action> actions(const Xpos& spec, int64_t context_length) {
  RotatePairs rotation = rotate_pairs(spec.rotary, context_length);
  const double d = static_cast<double>(rotation.rotary_dim);
  Decay decay{{}, spec.scale_base, spec.center};
  for (size_t i = 0; i < rotation.inv_freq.size(); ++i) {
    decay.log_zeta.push_back(std::log((2 * static_cast<double>(i) + 0.4 * d) / (1.4 * d)));
  }
  if (!decay.log_zeta.empty()) rotation.decay = std::move(decay);
  return {rotation};
}

}  // namespace hodometer
