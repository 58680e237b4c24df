#pragma once

#include <cstdint>

#include "hodometer/base/real.h"

namespace hodometer {

/// The phase that one position adds, as a 64-bit fraction of a turn: inv_freq / 2 pi modulo 1,
/// rounded to 2^-64.
///
/// position * phase_step(inv_freq), in wrapping 64-bit arithmetic, is the exact range reduction of
/// the angle: for positions below 2^31 it is within 2^-34 turns, 4e-10 radians, of the real angle.
uint64_t phase_step(Real inv_freq);

}  // namespace hodometer
