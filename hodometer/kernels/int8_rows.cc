#include "hodometer/kernels/int8_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hodometer/kernels/int8_rows.cc"
#include "hodometer/kernels/highway_config.h"
#include "hwy/foreach_target.h"

#include "hodometer/kernels/dtype_lanes-inl.h"

#ifndef HODOMETER_KERNELS_INT8_ROWS_ONCE_
#define HODOMETER_KERNELS_INT8_ROWS_ONCE_
namespace hodometer {
namespace {

constexpr float kSteps = 127;
// Below this a row's reciprocal is beyond float32.
constexpr float kLeastRow = 1e-36f;
// Adding and taking away 1.5 * 2^23 rounds to the nearest integer, ties to even.
constexpr float kWhole = 0x1.8p23f;

}  // namespace
}  // namespace hodometer
#endif

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

// The largest |lane| of a row. Bits of numbers without a sign are in the order of the numbers, with
// infinity and NaN above all.
float LargestLane(const float* row, int64_t lanes) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const auto bits = [&](int64_t i) { return hn::BitCast(di, hn::Abs(hn::LoadU(d, row + i))); };
  auto even = hn::Zero(di), odd = even;
  int64_t lane = 0;
  for (; lane + 2 * kLanes <= lanes; lane += 2 * kLanes) {
    even = hn::Max(even, bits(lane));
    odd = hn::Max(odd, bits(lane + kLanes));
  }
  int32_t largest = hn::GetLane(hn::MaxOfLanes(di, hn::Max(even, odd)));
  for (; lane < lanes; ++lane) {
    largest = std::max(largest, std::bit_cast<int32_t>(row[lane]) & 0x7FFFFFFF);
  }
  return std::bit_cast<float>(largest);
}

float ToInt8Row(const float* row, int64_t lanes, int8_t* integers) {
  const float largest = LargestLane(row, lanes);
  const bool finite = largest <= std::numeric_limits<float>::max();
  if (!finite || largest < kLeastRow) {
    std::fill_n(integers, lanes, int8_t{0});
    return finite ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  const float factor = kSteps / largest;
  ForLanes(lanes, [&](auto d, int64_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<int8_t, decltype(d)> d8;
    const auto whole = hn::Set(d, kWhole);
    const auto steps = hn::Add(hn::Mul(hn::LoadU(d, row + i), hn::Set(d, factor)), whole);
    hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(di, hn::Sub(steps, whole))), d8, integers + i);
  });
  return largest / kSteps;
}

void ToInt8Rows(const float* rows, int64_t count, int64_t lanes, int8_t* integers, float* scales) {
  for (int64_t i = 0; i < count; ++i) {
    scales[i] = ToInt8Row(rows + i * lanes, lanes, integers + i * lanes);
  }
}

void FromInt8Rows(const int8_t* integers, const float* scales, int64_t count, int64_t lanes,
                  float* rows) {
  for (int64_t row = 0; row < count; ++row) {
    const int8_t* from = integers + row * lanes;
    float* to = rows + row * lanes;
    ForLanes(lanes, [&](auto d, int64_t i) {
      const hn::RebindToSigned<decltype(d)> di;
      const hn::Rebind<int8_t, decltype(d)> d8;
      const auto steps = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, from + i)));
      hn::StoreU(hn::Mul(hn::Set(d, scales[row]), steps), d, to + i);
    });
  }
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hodometer {

HWY_EXPORT(ToInt8Rows);
HWY_EXPORT(FromInt8Rows);

void to_int8_rows(const float* rows, int64_t count, int64_t lanes, int8_t* integers,
                  float* scales) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(ToInt8Rows)(rows, count, lanes, integers, scales);
}

void from_int8_rows(const int8_t* integers, const float* scales, int64_t count, int64_t lanes,
                    float* rows) {
  internal::honour_target_request();
  HWY_DYNAMIC_DISPATCH(FromInt8Rows)(integers, scales, count, lanes, rows);
}

}  // namespace hodometer
#endif  // HWY_ONCE
