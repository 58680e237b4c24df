#include "hodometer/schedules/band.h"

#include <fmt/format.h>

#include "hodometer/base/check.h"

namespace hodometer {

std::vector<Real> inv_freq_of_base(Real base, int64_t rotary_dim) {
  std::vector<Real> inv_freq;
  const Real log_base = log(base);
  for (int64_t i = 0; i < rotary_dim / 2; ++i) {
    const Real exponent = Real(static_cast<double>(2 * i)) / static_cast<double>(rotary_dim);
    inv_freq.push_back(exp(-(exponent * log_base)));
  }
  return inv_freq;
}

std::vector<Real> plain_inv_freq(const RotaryBand& band) {
  return inv_freq_of_base(band.base, band.rotary_dim);
}

Real ntk_base(const RotaryBand& band, Real alpha) {
  const double d = static_cast<double>(band.rotary_dim);
  return Real(band.base) * pow(alpha, Real(d) / (d - 2));
}

Real pair_with_turns(const RotaryBand& band, Real length, Real turns) {
  const double d = static_cast<double>(band.rotary_dim);
  return d * log(length / (pi * 2.0 * turns)) / (log(band.base) * 2.0);
}

std::vector<Real> keep_ramp(Real low, Real high, int64_t num_pairs) {
  if (low == high) high = high + 0.001;
  std::vector<Real> keep;
  for (int64_t i = 0; i < num_pairs; ++i) {
    keep.push_back(1.0 - clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
  }
  return keep;
}

std::pair<Real, Real> ramp_ends(const RotaryBand& band, Real length, Real fast_turns,
                                Real slow_turns, RampEnds ends) {
  Real low = pair_with_turns(band, length, fast_turns);
  Real high = pair_with_turns(band, length, slow_turns);
  if (ends == RampEnds::rounded_outwards) {
    low = floor(low);
    high = ceil(high);
  }
  const Real last = static_cast<double>(band.rotary_dim - 1);
  return {low < 0.0 ? Real(0.0) : low, high > last ? last : high};
}

Status check_ntk_width(const RotaryBand& band) {
  if (band.rotary_dim != 2) return {};
  return Error{ErrorKind::bad_input,
               "rotary_dim is 2: NTK-aware scaling needs more, its exponent is d / (d - 2)"};
}

Status check_ramp(const RotaryBand& band, int64_t original_max_position_embeddings) {
  HODO_RETURN_IF_ERROR(
      check_at_least("original_max_position_embeddings", original_max_position_embeddings, 1));
  if (band.base > 1) return {};
  return Error{ErrorKind::bad_input,
               fmt::format("base is {}: expected more than 1, the ramp divides by its logarithm",
                           band.base)};
}

}  // namespace hodometer
