#pragma once

#include <string_view>
#include <vector>

#include "hodometer/base/result.h"

namespace hodometer {

/// The instruction set that kernels run on, by Highway's name: "AVX3", "AVX2", "SSE4", "SSSE3",
/// "EMU128" (no SIMD instructions), "NEON". The best of this machine, unless the environment
/// variable HODO_TARGET names another. The variable is read once, at the first kernel call or the
/// first call of a function here.
std::string_view target_name();

/// Every target that was built and that this machine has, best first.
std::vector<std::string_view> supported_target_names();

/// Whether HODO_TARGET is unset, or named a target that was then taken. If not (an unknown name, or
/// one this machine lacks), kernels run on the best target, and the error says what may be named.
Status check_target_request();

}  // namespace hodometer
