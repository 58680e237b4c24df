// Turns the pairs of heads by a row of cosines and sines. Included once per Highway target.

#include "hodometer/kernels/highway_config.h"

#if defined(HODOMETER_KERNELS_ROTATE_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HODOMETER_KERNELS_ROTATE_PAIRS_INL_H_
#undef HODOMETER_KERNELS_ROTATE_PAIRS_INL_H_
#else
#define HODOMETER_KERNELS_ROTATE_PAIRS_INL_H_
#endif

#include <cstdint>

#include "hodometer/kernels/angle_phases.h"
#include "hodometer/kernels/dtype_lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each struct below named ...Turn holds the cosines and sines of kPairs pairs in registers and
// turns those pairs of one head. Turn: src and dst are at the first lane of the first of the pairs;
// distance is how far apart the lanes of a pair are where the layout does not say it.

template <class V>
HWY_INLINE V First(V x, V y, V c, V s) {
  return hn::NegMulAdd(y, s, hn::Mul(x, c));
}
template <class V>
HWY_INLINE V Second(V x, V y, V c, V s) {
  return hn::MulAdd(x, s, hn::Mul(y, c));
}

// Keeps the compiler from loading v from memory at each of its uses: here loads are the bottleneck.
template <class V>
HWY_INLINE V InRegister(V v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  __asm__("" : "+v"(v.raw));
#endif
  return v;
}

// Lanes in their order, the pair's second lane at a distance.
template <class Lane, class DF, int kVectors>
struct HalfSplitTurn {
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
  static constexpr int64_t kPairs = kVectors * kLanes;
  static constexpr int64_t kLanesPerPair = 1;
  using V = hn::VFromD<DF>;
  using T = typename Lane::Memory;

  HWY_INLINE HalfSplitTurn(const float* cos, const float* sin) {
    for (int i = 0; i < kVectors; ++i) {
      c[i] = hn::LoadU(DF(), cos + i * kLanes);
      s[i] = hn::LoadU(DF(), sin + i * kLanes);
    }
  }
  HWY_INLINE void Turn(const T* src, T* dst, int64_t distance) const {
    for (int i = 0; i < kVectors; ++i) {
      const int64_t at = i * kLanes;
      const V x = LoadLanes(DF(), Lane(), src + at);
      const V y = LoadLanes(DF(), Lane(), src + at + distance);
      StoreLanes(DF(), Lane(), First(x, y, c[i], s[i]), dst + at);
      StoreLanes(DF(), Lane(), Second(x, y, c[i], s[i]), dst + at + distance);
    }
  }
  V c[kVectors], s[kVectors];
};

// A vector holds whole pairs: x c + swapped x s, with every cosine twice, and every sine twice with
// its sign.
template <class Lane, class DF, int kVectors>
struct InterleavedTurn {
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
  static constexpr int64_t kPairs = kVectors * kLanes / 2;
  static constexpr int64_t kLanesPerPair = 2;
  using V = hn::VFromD<DF>;
  using T = typename Lane::Memory;

  HWY_INLINE InterleavedTurn(const float* cos, const float* sin) {
    const V minus_even = hn::BitCast(DF(), hn::Set(DU64(), uint64_t{0x80000000u}));
    for (int i = 0; i < kVectors; ++i) {
      c[i] = Twice(cos + i * kLanes / 2);
      s[i] = hn::Xor(Twice(sin + i * kLanes / 2), minus_even);
    }
  }
  HWY_INLINE void Turn(const T* src, T* dst, int64_t) const {
    for (int i = 0; i < kVectors; ++i) {
      const V v = InRegister(LoadLanes(DF(), Lane(), src + i * kLanes));
      const V swapped = hn::Reverse2(DF(), v);
      StoreLanes(DF(), Lane(), hn::MulAdd(swapped, s[i], hn::Mul(v, c[i])), dst + i * kLanes);
    }
  }
  V c[kVectors], s[kVectors];

 private:
  using DU64 = hn::RepartitionToWide<hn::RebindToUnsigned<DF>>;
  static HWY_INLINE V Twice(const float* p) {
    const hn::Rebind<uint32_t, DU64> half;
    const auto low = hn::LoadU(half, reinterpret_cast<const uint32_t*>(p));
    return hn::DupEven(hn::BitCast(DF(), hn::PromoteTo(DU64(), low)));
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
template <class Lane, class DF, int kVectors>
struct BFloat16InterleavedTurn {
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
  static constexpr int64_t kPairs = kVectors * kLanes;
  static constexpr int64_t kLanesPerPair = 2;
  using V = hn::VFromD<DF>;

  HWY_INLINE BFloat16InterleavedTurn(const float* cos, const float* sin) {
    for (int i = 0; i < kVectors; ++i) {
      c[i] = hn::LoadU(DF(), cos + i * kLanes);
      s[i] = hn::LoadU(DF(), sin + i * kLanes);
    }
  }
  HWY_INLINE void Turn(const uint16_t* src, uint16_t* dst, int64_t) const {
    for (int i = 0; i < kVectors; ++i) {
      V x, y;
      BFloat16Halves<DF>::Load(src + 2 * i * kLanes, x, y);
      BFloat16Halves<DF>::Store(First(x, y, c[i], s[i]), Second(x, y, c[i], s[i]),
                                dst + 2 * i * kLanes);
    }
  }
  V c[kVectors], s[kVectors];
};

// Half-split bfloat16: cosines and sines are parted into even and odd places as the lanes are.
template <class Lane, class DF, int kVectors>
struct BFloat16HalfSplitTurn {
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
  static constexpr int64_t kPairs = kVectors * kLanes;
  static constexpr int64_t kLanesPerPair = 1;
  static_assert(kVectors % 2 == 0);
  using V = hn::VFromD<DF>;

  HWY_INLINE BFloat16HalfSplitTurn(const float* cos, const float* sin) {
    for (int i = 0; i < kVectors; i += 2) {
      Part(cos + i * kLanes, c[i], c[i + 1]);
      Part(sin + i * kLanes, s[i], s[i + 1]);
    }
  }
  HWY_INLINE void Turn(const uint16_t* src, uint16_t* dst, int64_t distance) const {
    for (int i = 0; i < kVectors; i += 2) {
      const int64_t at = i * kLanes;
      V x0, x1, y0, y1;
      BFloat16Halves<DF>::Load(src + at, x0, x1);
      BFloat16Halves<DF>::Load(src + at + distance, y0, y1);
      BFloat16Halves<DF>::Store(First(x0, y0, c[i], s[i]), First(x1, y1, c[i + 1], s[i + 1]),
                                dst + at);
      BFloat16Halves<DF>::Store(Second(x0, y0, c[i], s[i]), Second(x1, y1, c[i + 1], s[i + 1]),
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

// Heads of one token, at the first lane of the first pair.
template <class T>
struct TokenHeads {
  const T* src;
  T* dst;
  int64_t src_stride, dst_stride, distance;
  int64_t number;
};

// Turns heads in runs of TurnType::kPairs pairs from pair `begin` on for as long as they fit before
// `count`; returns the first pair left.
template <class TurnType, class T>
HWY_INLINE int64_t TurnRuns(const float* cos, const float* sin, int64_t begin, int64_t count,
                            const TokenHeads<T>& heads) {
  for (; begin + TurnType::kPairs <= count; begin += TurnType::kPairs) {
    const TurnType turn(cos + begin, sin + begin);
    const T* src = heads.src + begin * TurnType::kLanesPerPair;
    T* dst = heads.dst + begin * TurnType::kLanesPerPair;
    for (int64_t head = 0; head < heads.number; ++head) {
      turn.Turn(src, dst, heads.distance);
      src += heads.src_stride;
      dst += heads.dst_stride;
    }
  }
  return begin;
}

// The pairs that are left, in vectors of kLanes lanes, half of them, a quarter, down to kLeast.
template <template <class, class, int> class TurnType, class Lane, size_t kLanes, size_t kLeast>
HWY_INLINE void TurnTail(const float* cos, const float* sin, int64_t begin, int64_t count,
                         const TokenHeads<typename Lane::Memory>& heads) {
  if constexpr (kLanes >= kLeast) {
    using DF = hn::CappedTag<float, kLanes>;
    begin = TurnRuns<TurnType<Lane, DF, 1>>(cos, sin, begin, count, heads);
    if (begin < count) TurnTail<TurnType, Lane, kLanes / 2, kLeast>(cos, sin, begin, count, heads);
  }
}

// What a layout does: Turn turns `count` pairs of heads, those of a Run at a time while there are
// so many, then those of a Rest, then what is left by vectors of Tail. With AVX2 a Run is a head of
// 128 lanes: with 16 registers the cosines and sines do not fit, and some are read from L1 as
// operands, but one pass over a head in the order of memory beats several that keep them, by a
// third where the heads come from memory.
template <class Lane, class RunType, class Rest, template <class, class, int> class Tail,
          size_t kLeast>
struct Passes {
  using Run = RunType;
  static HWY_INLINE void Turn(const float* cos, const float* sin, int64_t count,
                              const TokenHeads<typename Lane::Memory>& heads) {
    int64_t j = TurnRuns<Run>(cos, sin, 0, count, heads);
    j = TurnRuns<Rest>(cos, sin, j, count, heads);
    constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<float>());
    if (j < count) TurnTail<Tail, Lane, kLanes, kLeast>(cos, sin, j, count, heads);
  }
};

template <class Lane, class DF = hn::ScalableTag<float>>
struct HalfSplit
    : Passes<Lane, HalfSplitTurn<Lane, DF, 8>, HalfSplitTurn<Lane, DF, 4>, HalfSplitTurn, 1> {};

template <class DF>
struct HalfSplit<BFloat16Lane, DF>
    : Passes<BFloat16Lane, BFloat16HalfSplitTurn<BFloat16Lane, DF, 8>,
             BFloat16HalfSplitTurn<BFloat16Lane, DF, 2>, HalfSplitTurn, 1> {};

template <class Lane, class DF = hn::ScalableTag<float>>
struct Interleaved : Passes<Lane, InterleavedTurn<Lane, DF, HWY_MAX_BYTES >= 64 ? 8 : 16>,
                            InterleavedTurn<Lane, DF, 4>, InterleavedTurn, 2> {};

template <class DF>
struct Interleaved<BFloat16Lane, DF>
    : Passes<BFloat16Lane, BFloat16InterleavedTurn<BFloat16Lane, DF, 8>,
             BFloat16InterleavedTurn<BFloat16Lane, DF, 1>, BFloat16InterleavedTurn, 1> {};

// Turns `count` pairs of the heads. What takes several passes over a head takes them two heads at a
// time: with more, memory is not read in the order in which it is prefetched.
template <class Layout, class T>
HWY_INLINE void TurnHeads(const float* cos, const float* sin, int64_t count, TokenHeads<T> heads) {
  int64_t left = heads.number;
  const int64_t at_once = count <= Layout::Run::kPairs ? left : 2;
  while (left > 0) {
    heads.number = at_once < left ? at_once : left;
    Layout::Turn(cos, sin, count, heads);
    heads.src += heads.number * heads.src_stride;
    heads.dst += heads.number * heads.dst_stride;
    left -= heads.number;
  }
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
