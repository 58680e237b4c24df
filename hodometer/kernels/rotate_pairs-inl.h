// Turns the pairs of heads by a row of cosines and sines. Included once per Highway target.

#include "hodometer/kernels/highway_config.h"

#if defined(HODOMETER_KERNELS_ROTATE_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HODOMETER_KERNELS_ROTATE_PAIRS_INL_H_
#undef HODOMETER_KERNELS_ROTATE_PAIRS_INL_H_
#else
#define HODOMETER_KERNELS_ROTATE_PAIRS_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hodometer/kernels/dtype_lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each struct below named ...Turn holds the cosines and sines of a few pairs in registers and turns
// those pairs of one head, a group of vectors at a time: loads first, so that they need not wait
// for stores that might be to the same place. kPairs: how many. Turn: src and dst are at the first
// lane of the first of them; distance is how far apart the lanes of a pair are where the layout
// does not say it.

// Lanes in their order, the pair's second lane at a distance.
template <class Lane, class DF, int kVectors>
struct HalfSplitTurn {
  static constexpr int64_t kPairs = kVectors * static_cast<int64_t>(hn::MaxLanes(DF()));
  static constexpr int64_t kLaneStride = 1;
  using V = hn::VFromD<DF>;
  using T = typename Lane::Memory;

  HalfSplitTurn(const float* row_cos, const float* row_sin) {
    for (int i = 0; i < kVectors; ++i) {
      c[i] = hn::LoadU(DF(), row_cos + i * kPairs / kVectors);
      s[i] = hn::LoadU(DF(), row_sin + i * kPairs / kVectors);
    }
  }
  HWY_INLINE void Turn(const T* src, T* dst, int64_t distance) const {
    constexpr int kGroup = kVectors < 2 ? kVectors : 2;
    for (int first = 0; first < kVectors; first += kGroup) {
      V x[kGroup], y[kGroup];
      for (int i = 0; i < kGroup; ++i) {
        x[i] = LoadLanes(DF(), Lane(), src + (first + i) * kPairs / kVectors);
        y[i] = LoadLanes(DF(), Lane(), src + (first + i) * kPairs / kVectors + distance);
      }
      for (int i = 0; i < kGroup; ++i) {
        T* to = dst + (first + i) * kPairs / kVectors;
        const V cosine = c[first + i], sine = s[first + i];
        StoreLanes(DF(), Lane(), hn::NegMulAdd(y[i], sine, hn::Mul(x[i], cosine)), to);
        StoreLanes(DF(), Lane(), hn::MulAdd(x[i], sine, hn::Mul(y[i], cosine)), to + distance);
      }
    }
  }
  V c[kVectors], s[kVectors];
};

// A vector holds whole pairs. Cosines stand twice, sines twice with their sign: x c + swapped x s.
template <class Lane, class DF, int kVectors>
struct InterleavedTurn {
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
  static constexpr int64_t kPairs = kVectors * kLanes / 2;
  static constexpr int64_t kLaneStride = 2;
  using V = hn::VFromD<DF>;
  using T = typename Lane::Memory;

  InterleavedTurn(const float* row_cos, const float* row_sin) {
    const hn::RepartitionToWide<hn::RebindToUnsigned<DF>> du64;
    const auto minus_even = hn::BitCast(DF(), hn::Set(du64, uint64_t{0x80000000u}));
    for (int i = 0; i < kVectors; ++i) {
      c[i] = Twice(row_cos + i * kLanes / 2);
      s[i] = hn::Xor(Twice(row_sin + i * kLanes / 2), minus_even);
    }
  }
  HWY_INLINE void Turn(const T* src, T* dst, int64_t) const {
    constexpr int kGroup = kVectors < 4 ? kVectors : 4;
    for (int first = 0; first < kVectors; first += kGroup) {
      V v[kGroup];
      for (int i = 0; i < kGroup; ++i) v[i] = LoadLanes(DF(), Lane(), src + (first + i) * kLanes);
      for (int i = 0; i < kGroup; ++i) {
        const V swapped = hn::Reverse2(DF(), v[i]);
        v[i] = hn::MulAdd(swapped, s[first + i], hn::Mul(v[i], c[first + i]));
      }
      for (int i = 0; i < kGroup; ++i) {
        StoreLanes(DF(), Lane(), v[i], dst + (first + i) * kLanes);
      }
    }
  }
  V c[kVectors], s[kVectors];

 private:
  static HWY_INLINE V Twice(const float* p) {
    const hn::RepartitionToWide<hn::RebindToUnsigned<DF>> du64;
    const hn::Rebind<uint32_t, decltype(du64)> half;
    const auto low = hn::LoadU(half, reinterpret_cast<const uint32_t*>(p));
    return hn::DupEven(hn::BitCast(DF(), hn::PromoteTo(du64, low)));
  }
};

// bfloat16 is the upper half of float32, so a vector of them is two vectors of float32 for the
// price of a shift and a mask: those at even and those at odd places.
template <class DF>
struct BFloat16Halves {
  using DU = hn::RebindToUnsigned<DF>;
  using V = hn::VFromD<DF>;

  static HWY_INLINE void Load(const uint16_t* p, V& even, V& odd) {
    const hn::Repartition<uint16_t, DU> du16;
    const auto both = hn::BitCast(DU(), hn::LoadU(du16, p));
    even = hn::BitCast(DF(), hn::ShiftLeft<16>(both));
    odd = hn::BitCast(DF(), hn::And(both, hn::Set(DU(), 0xFFFF0000u)));
  }
  // What a product of bfloat16 and finite factors leaves as NaN has a payload in its upper half, so
  // rounding cannot carry out of it.
  static HWY_INLINE void Store(V even, V odd, uint16_t* p) {
    const hn::Repartition<uint16_t, DU> du16;
    const auto low = hn::ShiftRight<16>(RoundToUpperHalf(DU(), hn::BitCast(DU(), even)));
    const auto high = RoundToUpperHalf(DU(), hn::BitCast(DU(), odd));
    hn::StoreU(hn::OddEven(hn::BitCast(du16, high), hn::BitCast(du16, low)), du16, p);
  }
};

// Interleaved bfloat16: the even places are the first lanes of pairs, the odd ones the second.
template <class DF, int kVectors>
struct BFloat16InterleavedTurn {
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
  static constexpr int64_t kPairs = kVectors * kLanes;
  static constexpr int64_t kLaneStride = 2;
  using V = hn::VFromD<DF>;

  BFloat16InterleavedTurn(const float* row_cos, const float* row_sin) {
    for (int i = 0; i < kVectors; ++i) {
      c[i] = hn::LoadU(DF(), row_cos + i * kLanes);
      s[i] = hn::LoadU(DF(), row_sin + i * kLanes);
    }
  }
  HWY_INLINE void Turn(const uint16_t* src, uint16_t* dst, int64_t) const {
    for (int i = 0; i < kVectors; ++i) {
      V x, y;
      BFloat16Halves<DF>::Load(src + 2 * i * kLanes, x, y);
      BFloat16Halves<DF>::Store(hn::NegMulAdd(y, s[i], hn::Mul(x, c[i])),
                                hn::MulAdd(x, s[i], hn::Mul(y, c[i])), dst + 2 * i * kLanes);
    }
  }
  V c[kVectors], s[kVectors];
};

// Half-split bfloat16: cosines and sines are parted into even and odd places as the lanes are.
template <class DF, int kVectors>
struct BFloat16HalfSplitTurn {
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
  static constexpr int64_t kPairs = kVectors * kLanes;
  static constexpr int64_t kLaneStride = 1;
  static_assert(kVectors % 2 == 0);
  using V = hn::VFromD<DF>;

  BFloat16HalfSplitTurn(const float* row_cos, const float* row_sin) {
    for (int i = 0; i < kVectors; i += 2) {
      Part(row_cos + i * kLanes, c[i], c[i + 1]);
      Part(row_sin + i * kLanes, s[i], s[i + 1]);
    }
  }
  HWY_INLINE void Turn(const uint16_t* src, uint16_t* dst, int64_t distance) const {
    for (int i = 0; i < kVectors; i += 2) {
      const int64_t at = i * kLanes;
      V x0, x1, y0, y1;
      BFloat16Halves<DF>::Load(src + at, x0, x1);
      BFloat16Halves<DF>::Load(src + at + distance, y0, y1);
      BFloat16Halves<DF>::Store(hn::NegMulAdd(y0, s[i], hn::Mul(x0, c[i])),
                                hn::NegMulAdd(y1, s[i + 1], hn::Mul(x1, c[i + 1])), dst + at);
      BFloat16Halves<DF>::Store(hn::MulAdd(x0, s[i], hn::Mul(y0, c[i])),
                                hn::MulAdd(x1, s[i + 1], hn::Mul(y1, c[i + 1])),
                                dst + at + distance);
    }
  }
  V c[kVectors], s[kVectors];

 private:
  static HWY_INLINE void Part(const float* row, V& even, V& odd) {
    const V lower = hn::LoadU(DF(), row), upper = hn::LoadU(DF(), row + kLanes);
    even = hn::ConcatEven(DF(), upper, lower);
    odd = hn::ConcatOdd(DF(), upper, lower);
  }
};

// The heads of one token.
template <class T>
struct TokenHeads {
  const T* src;
  T* dst;
  int64_t heads, src_stride, dst_stride, distance;
};

// Turns runs of TurnType::kPairs pairs from pair `begin` on for as long as they fit before `count`;
// returns the first pair left.
template <class TurnType, class T>
HWY_INLINE int64_t TurnRuns(const float* cos, const float* sin, int64_t begin, int64_t count,
                            const TokenHeads<T>& token) {
  for (; begin + TurnType::kPairs <= count; begin += TurnType::kPairs) {
    const TurnType turn(cos + begin, sin + begin);
    const T* src = token.src + begin * TurnType::kLaneStride;
    T* dst = token.dst + begin * TurnType::kLaneStride;
    for (int64_t head = 0; head < token.heads; ++head) {
      turn.Turn(src, dst, token.distance);
      src += token.src_stride;
      dst += token.dst_stride;
    }
  }
  return begin;
}

// The pairs that are left, in vectors of half the lanes, a quarter, down to one pair.
template <template <class, class, int> class TurnType, class Lane, size_t kLanes, size_t kLeast>
HWY_INLINE void TurnTail(const float* cos, const float* sin, int64_t begin, int64_t count,
                         const TokenHeads<typename Lane::Memory>& token) {
  if constexpr (kLanes >= kLeast) {
    using DF = hn::CappedTag<float, kLanes>;
    begin = TurnRuns<TurnType<Lane, DF, 1>>(cos, sin, begin, count, token);
    if (begin < count) TurnTail<TurnType, Lane, kLanes / 2, kLeast>(cos, sin, begin, count, token);
  }
}

// Cosines and sines that are held for several heads. With 16 registers they do not fit, and are
// read from L1 as operands: one pass over a head in the order of memory beats two that keep them.
inline constexpr int kHeldVectors = 8;

// Turns `count` pairs of every head of a token: many at a time by First, then fewer by Second, then
// what is left by Tail.
template <class First, class Second, template <class, class, int> class Tail, size_t kLeast,
          class Lane>
HWY_INLINE void TurnAll(Lane, const float* cos, const float* sin, int64_t count,
                        const TokenHeads<typename Lane::Memory>& token) {
  int64_t j = TurnRuns<First>(cos, sin, 0, count, token);
  j = TurnRuns<Second>(cos, sin, j, count, token);
  constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<float>());
  if (j < count) TurnTail<Tail, Lane, kLanes, kLeast>(cos, sin, j, count, token);
}

template <class Lane>
HWY_INLINE void TurnHalfSplit(const float* cos, const float* sin, int64_t count,
                              const TokenHeads<typename Lane::Memory>& token) {
  using DF = hn::ScalableTag<float>;
  if constexpr (std::is_same_v<Lane, BFloat16Lane>) {
    TurnAll<BFloat16HalfSplitTurn<DF, kHeldVectors>, BFloat16HalfSplitTurn<DF, 2>, HalfSplitTurn,
            1>(Lane(), cos, sin, count, token);
  } else {
    TurnAll<HalfSplitTurn<Lane, DF, kHeldVectors>, HalfSplitTurn<Lane, DF, kHeldVectors / 2>,
            HalfSplitTurn, 1>(Lane(), cos, sin, count, token);
  }
}

template <class Lane>
HWY_INLINE void TurnInterleaved(const float* cos, const float* sin, int64_t count,
                                const TokenHeads<typename Lane::Memory>& token) {
  using DF = hn::ScalableTag<float>;
  if constexpr (std::is_same_v<Lane, BFloat16Lane>) {
    TurnAll<BFloat16InterleavedTurn<DF, kHeldVectors>, BFloat16InterleavedTurn<DF, 1>,
            InterleavedTurn, 2>(Lane(), cos, sin, count, token);
  } else {
    TurnAll<InterleavedTurn<Lane, DF, kHeldVectors>, InterleavedTurn<Lane, DF, kHeldVectors / 2>,
            InterleavedTurn, 2>(Lane(), cos, sin, count, token);
  }
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
