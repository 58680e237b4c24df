#pragma once

#include <utility>
#include <vector>

#include "hodometer/base/real.h"
#include "hodometer/schedules/frequency_schedule.h"

/// What several rules share.
namespace hodometer {

/// base^(-2i/d) for every pair.
std::vector<Real> plain_inv_freq(const RotaryBand& band);

/// The base that keeps the first pair and divides the last by exactly alpha: b alpha^(d/(d-2)).
Real ntk_base(const RotaryBand& band, Real alpha);

/// base^(-2i/d) with a base that need not be a double.
std::vector<Real> inv_freq_of_base(Real base, int64_t rotary_dim);

/// The pair index, as a real number, at which a pair makes `turns` full turns in `length`
/// positions: d ln(length / (2 pi turns)) / (2 ln b).
Real pair_with_turns(const RotaryBand& band, Real length, Real turns);

/// Weight per pair of the part that is not interpolated: 1 below `low`, 0 above `high`, linear
/// between. Equal ends are moved apart by 0.001, as every implementation does; high < low gives
/// the reversed ramp of the common formula.
std::vector<Real> keep_ramp(Real low, Real high, int64_t num_pairs);

/// The ends of the ramp for two numbers of turns, rounded outwards if asked, and clamped to
/// [0, d-1] (not d/2-1: every implementation keeps this slip, so models were trained with it).
enum class RampEnds { exact, rounded_outwards };
std::pair<Real, Real> ramp_ends(const RotaryBand& band, Real length, Real fast_turns,
                                Real slow_turns, RampEnds ends);

/// base * alpha^(d/(d-2)) has no value at d = 2.
Status check_ntk_width(const RotaryBand& band);

/// The ramp divides by ln(base) and takes the logarithm of the length.
Status check_ramp(const RotaryBand& band, int64_t original_max_position_embeddings);

}  // namespace hodometer
