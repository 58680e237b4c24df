// Products of few rows with rows of keys and values where they lie. Included once per Highway
// target.

#include "hodometer/kernels/highway_config.h"

#if defined(HODOMETER_KERNELS_ATTENTION_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HODOMETER_KERNELS_ATTENTION_DECODE_INL_H_
#undef HODOMETER_KERNELS_ATTENTION_DECODE_INL_H_
#else
#define HODOMETER_KERNELS_ATTENTION_DECODE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hodometer/kernels/attention_tiles-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

// Keeps the compiler from loading v again at each of its uses: here loads are the bottleneck.
HWY_INLINE FullVector InRegister(FullVector v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  __asm__("" : "+v"(v.raw));
#endif
  return v;
}

using Tag4 = hn::CappedTag<float, 4>;
using Vector4 = hn::Vec<Tag4>;

// Block by block of four lanes, the sum over blocks.
template <class D>
HWY_INLINE Vector4 SumOfBlocks(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return SumOfBlocks(half, hn::Add(hn::UpperHalf(half, v), hn::LowerHalf(half, v)));
  }
}

// The sums of the lanes of each of four vectors.
HWY_INLINE Vector4 SumsOfLanes(FullVector a, FullVector b, FullVector c, FullVector e) {
  const FullTag d;
  const FullVector ac = hn::Add(hn::InterleaveLower(d, a, c), hn::InterleaveUpper(d, a, c));
  const FullVector be = hn::Add(hn::InterleaveLower(d, b, e), hn::InterleaveUpper(d, b, e));
  const FullVector all = hn::Add(hn::InterleaveLower(d, ac, be), hn::InterleaveUpper(d, ac, be));
  return SumOfBlocks(d, all);
}

// Eight sums fill the latency of two multiply-adds a cycle: of that many keys at once.
constexpr int64_t kSums = 8;

// The sums of kSums vectors, kKeys a row.
template <int kKeys>
HWY_INLINE void StoreSums(const FullVector* sums, float* rows, int64_t stride) {
  const Tag4 d4;
  const hn::Half<Tag4> d2;
  for (int i = 0; i < kSums; i += 4) {
    const Vector4 four = SumsOfLanes(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
    float* row = rows + i / kKeys * stride + i % kKeys;
    if constexpr (kKeys >= 4) {
      hn::StoreU(four, d4, row);
    } else {
      hn::StoreU(hn::LowerHalf(d2, four), d2, row);
      hn::StoreU(hn::UpperHalf(d2, four), d2, row + stride);
    }
  }
}

// scores[row * stride + n] = query row . key n, for kRows rows and kSums / kRows keys.
template <int kRows, class Lane>
HWY_INLINE void DotKeys(const float* queries, int64_t dim, const typename Lane::Memory* const* keys,
                        float* scores, int64_t stride) {
  constexpr int kKeys = static_cast<int>(kSums) / kRows;
  const FullTag d;
  FullVector sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Zero(d);
  int64_t lane = 0;
  for (; lane + kLanes <= dim; lane += kLanes) {
    FullVector key[kKeys];
    for (int n = 0; n < kKeys; ++n) key[n] = LoadLanes(d, Lane(), keys[n] + lane);
    for (int row = 0; row < kRows; ++row) {
      const FullVector query = InRegister(hn::LoadU(d, queries + row * dim + lane));
      for (int n = 0; n < kKeys; ++n) {
        sums[row * kKeys + n] = hn::MulAdd(query, key[n], sums[row * kKeys + n]);
      }
    }
  }
  StoreSums<kKeys>(sums, scores, stride);
  const hn::CappedTag<float, 1> d1;
  for (; lane < dim; ++lane) {
    for (int i = 0; i < kSums; ++i) {
      const float key = hn::GetLane(LoadLanes(d1, Lane(), keys[i % kKeys] + lane));
      scores[i / kKeys * stride + i % kKeys] += queries[i / kKeys * dim + lane] * key;
    }
  }
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
