#include "hodometer/plan/phase.h"

namespace hodometer {

uint64_t phase_step(Real inv_freq) {
  const Real turns = inv_freq / (pi * 2.0);
  // 32 bits at a time, because a double holds 53 of the 64.
  const Real high_part = (turns - floor(turns)) * 0x1p32;
  const Real high = floor(high_part);
  const Real low = floor((high_part - high) * 0x1p32 + 0.5);  // may be 2^32: the sum carries
  return (static_cast<uint64_t>(high.to_double()) << 32) + static_cast<uint64_t>(low.to_double());
}

}  // namespace hodometer
