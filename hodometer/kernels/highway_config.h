#pragma once

// Included before any header of Highway by every file that uses it.

// Highway leaves its 128-bit emulation out for g++ before 12.3, which miscompiles multiplications
// that keep the high half (GCC bug 106322). No kernel here does that, and without the emulation
// the base target would have single lanes, which kernels that look at neighbours cannot use.
#define HWY_BROKEN_EMU128 0

// Vectors of unknown length cannot be held in arrays, and kernels here keep rows in arrays of
// registers. Machines with SVE run on NEON; RISC-V runs on the emulation.
#define HODO_UNSIZED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// With sanitizers each instruction set takes minutes to compile, and what they can find shows on
// the emulation and on AVX2, the widest that every machine of the checks has.
#ifdef HODOMETER_FEW_TARGETS
#define HWY_DISABLED_TARGETS (HODO_UNSIZED_TARGETS | HWY_SSSE3 | HWY_SSE4 | (HWY_AVX2 - 1))
#else
#define HWY_DISABLED_TARGETS HODO_UNSIZED_TARGETS
#endif

namespace hodometer::internal {

/// Makes Highway choose what HODO_TARGET asks for. Called before every dispatch; after the first
/// time it costs one load and one branch.
void honour_target_request();

}  // namespace hodometer::internal
