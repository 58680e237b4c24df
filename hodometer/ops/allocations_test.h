#pragma once

#include <cstdint>

namespace hodometer::testing {

/// What `new` gave in this program: counted in rotate_allocation_test.cc, which replaces it.
struct Allocations {
  int64_t count = 0;       ///< how many times
  int64_t live_bytes = 0;  ///< not given back
  int64_t peak_bytes = 0;  ///< the most at once since forget_peak()
};
Allocations allocations();
void forget_peak();

}  // namespace hodometer::testing
