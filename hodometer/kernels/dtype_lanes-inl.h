// Loads and stores of the element types as float32 lanes. Included once per Highway target.

#include "hodometer/kernels/highway_config.h"

#if defined(HODOMETER_KERNELS_DTYPE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HODOMETER_KERNELS_DTYPE_LANES_INL_H_
#undef HODOMETER_KERNELS_DTYPE_LANES_INL_H_
#else
#define HODOMETER_KERNELS_DTYPE_LANES_INL_H_
#endif

#include <cstdint>

#include "hodometer/base/tensor_view.h"
#include "hwy/highway.h"

// Whether Highway's float16 conversions are one instruction. Its emulations truncate.
#undef HODO_NATIVE_FLOAT16
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)) || \
    (HWY_ARCH_ARM_A64 && HWY_TARGET != HWY_EMU128)
#define HODO_NATIVE_FLOAT16 1
#else
#define HODO_NATIVE_FLOAT16 0
#endif

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How an element type lies in memory. A bit pattern has its own type so that overloads can tell.
struct Float32Lane {
  using Memory = float;
};
struct BFloat16Lane {
  using Memory = uint16_t;
};
struct Float16Lane {
  using Memory = uint16_t;
};

// Runs body(lane type) for the type that dtype names.
template <class Body>
HWY_INLINE void WithLane(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::float32:
      return body(Float32Lane());
    case DType::bfloat16:
      return body(BFloat16Lane());
    case DType::float16:
      return body(Float16Lane());
  }
}

// The upper 16 bits of each float32 become its nearest bfloat16, ties to even; the lower 16 bits
// are rubbish. Right for all but those NaNs whose payload lies in the lower bits only.
template <class DU>
HWY_INLINE hn::VFromD<DU> RoundToUpperHalf(DU du, hn::VFromD<DU> bits) {
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  return hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu)));
}

// The same for every NaN too: made quiet, so that rounding cannot carry out of the payload.
template <class DF>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<DF>> RoundToBFloat16(DF df, hn::VFromD<DF> v) {
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::BitCast(du, v);
  const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000u));
  const auto nan = hn::RebindMask(du, hn::IsNaN(v));
  (void)df;
  return hn::IfThenElse(nan, quiet, RoundToUpperHalf(du, bits));
}

#if !HODO_NATIVE_FLOAT16
// float16 bits in the low half of each lane to float32.
template <class DF>
HWY_INLINE hn::VFromD<DF> Float16BitsToFloat32(DF df, hn::VFromD<hn::RebindToUnsigned<DF>> half) {
  const hn::RebindToUnsigned<DF> du;
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(du, 0x7FFFu)));
  const auto exponent = hn::And(magnitude, hn::Set(du, 0x0F800000u));
  const auto normal = hn::Add(magnitude, hn::Set(du, (127u - 15u) << 23));
  // Infinities and NaNs have all exponent bits set in both formats.
  const auto special = hn::Or(magnitude, hn::Set(du, 0x7F800000u));
  // A subnormal is its mantissa times 2^-24: put it below an implicit one, and take the one away.
  const auto one = hn::Set(du, 113u << 23);
  const auto subnormal =
      hn::BitCast(du, hn::Sub(hn::BitCast(df, hn::Add(magnitude, one)), hn::BitCast(df, one)));
  const auto finite = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), subnormal, normal);
  return hn::BitCast(df, hn::Or(sign, hn::IfThenElse(hn::Eq(exponent, hn::Set(du, 0x0F800000u)),
                                                     special, finite)));
}

// float32 to the nearest float16, ties to even, in the low half of each lane.
template <class DF>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<DF>> Float32ToFloat16Bits(DF df, hn::VFromD<DF> v) {
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const auto bits = hn::BitCast(du, v);
  const auto sign = hn::And(bits, hn::Set(du, 0x80000000u));
  const auto magnitude = hn::Xor(bits, sign);
  const auto below = [&](uint32_t bound) {  // signed comparison is right: both are below 2^31
    return hn::RebindMask(
        du, hn::Lt(hn::BitCast(di, magnitude), hn::Set(di, static_cast<int32_t>(bound))));
  };
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
  const auto rebiased = hn::Sub(magnitude, hn::Set(du, (127u - 15u) << 23));
  const auto normal = hn::ShiftRight<13>(hn::Add(rebiased, hn::Add(odd, hn::Set(du, 0xFFFu))));
  // Adding 1/2 leaves a multiple of 2^-24, the float16 subnormal's unit, rounded by the hardware.
  const auto half = hn::Set(df, 0.5f);
  const auto subnormal =
      hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), half)), hn::BitCast(du, half));
  const auto nan =
      hn::Or(hn::Set(du, 0x7E00u), hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x3FFu)));
  const auto not_nan = below(0x7F800001u);
  auto result = hn::IfThenElse(not_nan, hn::Set(du, 0x7C00u), nan);
  result = hn::IfThenElse(below((127u + 16u) << 23), normal, result);
  result = hn::IfThenElse(below((127u - 14u) << 23), subnormal, result);
  return hn::Or(result, hn::ShiftRight<16>(sign));
}
#endif  // !HODO_NATIVE_FLOAT16

// Any address; as many elements as df has lanes.
template <class DF>
HWY_INLINE hn::VFromD<DF> LoadLanes(DF df, Float32Lane, const float* p) {
  return hn::LoadU(df, p);
}
template <class DF>
HWY_INLINE hn::VFromD<DF> LoadLanes(DF df, BFloat16Lane, const uint16_t* p) {
  const hn::RebindToUnsigned<DF> du;
  const hn::Rebind<uint16_t, DF> du16;
  return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(du16, p))));
}
template <class DF>
HWY_INLINE hn::VFromD<DF> LoadLanes(DF df, Float16Lane, const uint16_t* p) {
  const hn::Rebind<uint16_t, DF> du16;
#if HODO_NATIVE_FLOAT16
  const hn::Rebind<hwy::float16_t, DF> df16;
  return hn::PromoteTo(df, hn::BitCast(df16, hn::LoadU(du16, p)));
#else
  const hn::RebindToUnsigned<DF> du;
  return Float16BitsToFloat32(df, hn::PromoteTo(du, hn::LoadU(du16, p)));
#endif
}

// Rounded once, to nearest even.
template <class DF>
HWY_INLINE void StoreLanes(DF df, Float32Lane, hn::VFromD<DF> v, float* p) {
  hn::StoreU(v, df, p);
}
template <class DF>
HWY_INLINE void StoreLanes(DF df, BFloat16Lane, hn::VFromD<DF> v, uint16_t* p) {
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<uint16_t, DF> du16;
  const auto half = hn::ShiftRight<16>(RoundToBFloat16(df, v));
  hn::StoreU(hn::DemoteTo(du16, hn::BitCast(di, half)), du16, p);
}
template <class DF>
HWY_INLINE void StoreLanes(DF df, Float16Lane, hn::VFromD<DF> v, uint16_t* p) {
  const hn::Rebind<uint16_t, DF> du16;
#if HODO_NATIVE_FLOAT16
  const hn::Rebind<hwy::float16_t, DF> df16;
  hn::StoreU(hn::BitCast(du16, hn::DemoteTo(df16, v)), du16, p);
#else
  const hn::RebindToSigned<DF> di;
  hn::StoreU(hn::DemoteTo(du16, hn::BitCast(di, Float32ToFloat16Bits(df, v))), du16, p);
#endif
}

// body(d, i) for consecutive runs of lanes from i = 0 to count: as long as a vector for as long as
// that fits, then half of it, and so on down to one. Never touches a lane outside.
template <size_t kLanes, class Body>
HWY_INLINE void ForLanesBelow(int64_t begin, int64_t count, const Body& body) {
  if constexpr (kLanes > 0) {
    const hn::CappedTag<float, kLanes> d;
    for (; begin + static_cast<int64_t>(kLanes) <= count; begin += kLanes) body(d, begin);
    ForLanesBelow<kLanes / 2>(begin, count, body);
  }
}
template <class Body>
HWY_INLINE void ForLanes(int64_t count, const Body& body) {
  ForLanesBelow<HWY_MAX_BYTES / sizeof(float)>(0, count, body);
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
