#include "hodometer/kernels/limits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/limits.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// body(i) for whole vectors, four at a time; returns how many elements those were.
template <class D, class Body>
HWY_INLINE int64_t ForVectors(D d, int64_t count, const Body& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    body(i, 0);
    body(i + lanes, 1);
    body(i + 2 * lanes, 2);
    body(i + 3 * lanes, 3);
  }
  return i;
}

void ScaleFloat32(float* data, int64_t count, float factor) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, factor);
  int64_t i = ForVectors(d, count, [&](int64_t at, int) {
    hn::StoreU(hn::Mul(hn::LoadU(d, data + at), scale), d, data + at);
  });
  for (; i < count; ++i) data[i] *= factor;
}

void ScaleBits16(uint16_t* data, int64_t count, uint16_t factor) {
  const hn::ScalableTag<uint16_t> d;
  const auto scale = hn::Set(d, factor);
  int64_t i = ForVectors(d, count, [&](int64_t at, int) {
    hn::StoreU(hn::Mul(hn::LoadU(d, data + at), scale), d, data + at);
  });
  for (; i < count; ++i) data[i] = static_cast<uint16_t>(data[i] * uint32_t{factor});
}

void ScaleInPlace(DType dtype, void* data, int64_t count, float factor) {
  if (dtype == DType::float32) {
    ScaleFloat32(static_cast<float*>(data), count, factor);
  } else {
    ScaleBits16(static_cast<uint16_t*>(data), count,
                static_cast<uint16_t>(static_cast<int64_t>(factor)));
  }
}

void Fill(float* data, int64_t count, float value) {
  const hn::ScalableTag<float> d;
  const auto v = hn::Set(d, value);
  int64_t i = ForVectors(d, count, [&](int64_t at, int) { hn::StoreU(v, d, data + at); });
  for (; i < count; ++i) data[i] = value;
}

float Sum(const float* data, int64_t count) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = ForVectors(
      d, count, [&](int64_t at, int k) { sums[k] = hn::Add(sums[k], hn::LoadU(d, data + at)); });
  const auto all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  float sum = hn::GetLane(hn::SumOfLanes(d, all));
  for (; i < count; ++i) sum += data[i];
  return sum;
}

float MultiplyAdd(int64_t count, float factor, float value) {
  const hn::ScalableTag<float> d;
  constexpr int kSums = 12;
  const auto by = hn::Set(d, factor), plus = hn::Set(d, value);
  hn::Vec<decltype(d)> sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  const int64_t at_once = kSums * static_cast<int64_t>(hn::Lanes(d));
  for (int64_t done = 0; done < count; done += at_once) {
    for (int i = 0; i < kSums; ++i) sums[i] = hn::MulAdd(sums[i], by, plus);
  }
  auto all = sums[0];
  for (int i = 1; i < kSums; ++i) all = hn::Add(all, sums[i]);
  return hn::GetLane(all);
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(ScaleInPlace);
HWY_EXPORT(Fill);
HWY_EXPORT(Sum);
HWY_EXPORT(MultiplyAdd);

void scale_in_place(DType dtype, void* data, int64_t count, float factor) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(ScaleInPlace)(dtype, data, count, factor);
}

void fill(float* data, int64_t count, float value) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(Fill)(data, count, value);
}

float sum(const float* data, int64_t count) {
  internal::honour_target_request();
  return HWY_DYNAMIC_DISPATCH(Sum)(data, count);
}

float multiply_add(int64_t count, float factor, float value) {
  internal::honour_target_request();
  return HWY_DYNAMIC_DISPATCH(MultiplyAdd)(count, factor, value);
}

}  // namespace hodometer
#endif  // HWY_ONCE
