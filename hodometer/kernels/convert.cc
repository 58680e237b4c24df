#include "hodometer/kernels/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/convert.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/dtype_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

// The arithmetic identity through float32: loads one element type, stores another.
template <class From, class To>
void Convert(const typename From::Memory* src, typename To::Memory* dst, int64_t count) {
  ForLanes(count,
           [&](auto d, int64_t i) { StoreLanes(d, To(), LoadLanes(d, From(), src + i), dst + i); });
}

void ToFloat32(DType dtype, const void* src, float* dst, int64_t count) {
  WithLane(dtype, [&](auto lane) {
    using Lane = decltype(lane);
    Convert<Lane, Float32Lane>(static_cast<const typename Lane::Memory*>(src), dst, count);
  });
}

void FromFloat32(DType dtype, const float* src, void* dst, int64_t count) {
  WithLane(dtype, [&](auto lane) {
    using Lane = decltype(lane);
    Convert<Float32Lane, Lane>(src, static_cast<typename Lane::Memory*>(dst), count);
  });
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(ToFloat32);
HWY_EXPORT(FromFloat32);

void to_float32(DType dtype, const void* src, float* dst, int64_t count) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(ToFloat32)(dtype, src, dst, count);
}

void from_float32(DType dtype, const float* src, void* dst, int64_t count) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(FromFloat32)(dtype, src, dst, count);
}

}  // namespace hodometer
#endif  // HWY_ONCE
