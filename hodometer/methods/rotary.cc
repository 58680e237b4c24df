#include "hodometer/methods/rotary.h"

#include <fmt/format.h>

#include "hodometer/base/check.h"

namespace hodometer {

Status check(const Rotary& spec) {
  HODO_RETURN_IF_ERROR(check_at_least("head_dim", spec.head_dim, 1));
  HODO_RETURN_IF_ERROR(check_even("rotary_dim", spec.width()));
  HODO_RETURN_IF_ERROR(check_at_least("rotary_start", spec.rotary_start, 0));
  if (spec.width() > spec.head_dim || spec.rotary_start > spec.head_dim - spec.width()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("rotary_dim {} from rotary_start {} on: expected it to lie within "
                             "head_dim {}",
                             spec.width(), spec.rotary_start, spec.head_dim)};
  }
  if (spec.head_dim > max_head_dim) {
    return Error{ErrorKind::bad_input,
                 fmt::format("head_dim is {}: expected at most {}", spec.head_dim, max_head_dim)};
  }
  return check(spec.schedule, spec.band());
}

RotatePairs rotate_pairs(const Rotary& spec, int64_t context_length) {
  Frequencies made = frequencies(spec.schedule, spec.band(), context_length);
  RotatePairs rotation;
  rotation.head_dim = spec.head_dim;
  rotation.rotary_dim = spec.width();
  rotation.rotary_start = spec.rotary_start;
  rotation.layout = spec.layout;
  rotation.inv_freq = std::move(made.inv_freq);
  rotation.magnitude = made.attention_factor;
  return rotation;
}

std::vector<Action> actions(const Rotary& spec, int64_t context_length) {
  return {rotate_pairs(spec, context_length)};
}

}  // namespace hodometer
