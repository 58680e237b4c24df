// Tiles of attention: products, packing, softmax. Included once per Highway target.

#include "hodometer/kernels/highway_config.h"

#if defined(HODOMETER_KERNELS_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HODOMETER_KERNELS_ATTENTION_TILES_INL_H_
#undef HODOMETER_KERNELS_ATTENTION_TILES_INL_H_
#else
#define HODOMETER_KERNELS_ATTENTION_TILES_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/kernels/dtype_lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FullTag = hn::ScalableTag<float>;
using FullVector = hn::Vec<FullTag>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(FullTag()));

// A product is made in tiles of kTileRows x kTileVectors vectors, whose sums fill the registers: 12
// of 16, or 24 of 32. Rows are few, so that little is computed beyond the diagonal.
constexpr int kTileRows = kLanes >= 16 ? 12 : 6;
constexpr int kTileVectors = HWY_ARCH_ARM_A64 ? 4 : 2;
constexpr int64_t kTileWidth = kTileVectors * kLanes;

// Where the sums of a product start.
struct FromZero {
  static HWY_INLINE FullVector Start(const float*) { return hn::Zero(FullTag()); }
};
struct FromMemory {
  static HWY_INLINE FullVector Start(const float* p) { return hn::LoadU(FullTag(), p); }
};

// c (kRows x kTileWidth) = start + a (kRows x depth) b (depth x kTileWidth).
template <class From, int kRows>
HWY_INLINE void MultiplyTile(const float* HWY_RESTRICT a, int64_t a_stride,
                             const float* HWY_RESTRICT b, int64_t b_stride, int64_t depth,
                             float* HWY_RESTRICT c, int64_t c_stride) {
  const FullTag d;
  FullVector sums[kRows][kTileVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kTileVectors; ++j) sums[i][j] = From::Start(c + i * c_stride + j * kLanes);
  }
  for (int64_t k = 0; k < depth; ++k) {
    FullVector columns[kTileVectors];
    for (int j = 0; j < kTileVectors; ++j) columns[j] = hn::LoadU(d, b + j * kLanes);
    for (int i = 0; i < kRows; ++i) {
      const FullVector x = hn::Set(d, a[i * a_stride + k]);
      for (int j = 0; j < kTileVectors; ++j) sums[i][j] = hn::MulAdd(x, columns[j], sums[i][j]);
    }
    b += b_stride;
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kTileVectors; ++j) hn::StoreU(sums[i][j], d, c + i * c_stride + j * kLanes);
  }
}

// Four lanes of each of as many rows as the tag has lanes: block b of vector j is lanes of rows
// 4 b + j.
template <class Lane>
struct RowLanes {
  using T = typename Lane::Memory;
  const T* const* rows;
  int64_t at;

  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, int64_t first) const {
    if constexpr (hn::MaxLanes(D()) == 4) {
      return LoadLanes(d, Lane(), rows[first] + at);
    } else {
      const hn::Half<D> half;
      const int64_t middle = static_cast<int64_t>(hn::MaxLanes(half));
      return hn::Combine(d, Load(half, first + middle), Load(half, first));
    }
  }
};

// Transposes kLanes rows of `dim` lanes into columns dst[lane * kTileWidth + row].
template <class Lane>
HWY_INLINE void TransposeRows(const typename Lane::Memory* const* rows, int64_t dim, float* dst) {
  const FullTag d;
  int64_t i = 0;
  for (; i + 4 <= dim; i += 4) {
    const RowLanes<Lane> lanes{rows, i};
    const FullVector r0 = lanes.Load(d, 0), r1 = lanes.Load(d, 1);
    const FullVector r2 = lanes.Load(d, 2), r3 = lanes.Load(d, 3);
    const FullVector even_low = hn::InterleaveLower(d, r0, r2);
    const FullVector odd_low = hn::InterleaveLower(d, r1, r3);
    const FullVector even_high = hn::InterleaveUpper(d, r0, r2);
    const FullVector odd_high = hn::InterleaveUpper(d, r1, r3);
    float* column = dst + i * kTileWidth;
    hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, column);
    hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, column + kTileWidth);
    hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, column + 2 * kTileWidth);
    hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, column + 3 * kTileWidth);
  }
  const hn::CappedTag<float, 1> d1;
  for (; i < dim; ++i) {
    for (int64_t row = 0; row < kLanes; ++row) {
      hn::StoreU(LoadLanes(d1, Lane(), rows[row] + i), d1, dst + i * kTileWidth + row);
    }
  }
}

// The columns of keys [begin, end) of `dim` lanes as float32, in panels of kTileWidth keys from
// `base` on. Beyond the ends a panel has the key at the end again: its scores are hidden later.
template <class Lane>
HWY_INLINE void PackColumns(const typename Lane::Memory* keys, int64_t stride, int64_t dim,
                            int64_t base, int64_t begin, int64_t end, float* panels) {
  const typename Lane::Memory* rows[kLanes];
  for (int64_t first = (begin - base) / kTileWidth * kTileWidth; first < end - base;
       first += kTileWidth) {
    for (int64_t column = 0; column < kTileWidth; column += kLanes) {
      for (int64_t i = 0; i < kLanes; ++i) {
        rows[i] = keys + std::clamp(base + first + column + i, begin, end - 1) * stride;
      }
      TransposeRows<Lane>(rows, dim, panels + first * dim + column);
    }
  }
}

// Rows [begin, end) of `dim` lanes as float32, in panels of kTileWidth lanes; row `base` is a
// panel's first of panel_rows. Lanes beyond the last are 0.
template <class Lane>
HWY_INLINE void PackRows(const typename Lane::Memory* src, int64_t stride, int64_t dim,
                         int64_t base, int64_t begin, int64_t end, int64_t panel_rows,
                         float* panels) {
  const FullTag d;
  const hn::CappedTag<float, 1> d1;
  const int64_t padded = (dim + kTileWidth - 1) / kTileWidth * kTileWidth;
  for (int64_t row = begin; row < end; ++row) {
    const typename Lane::Memory* from = src + row * stride;
    float* panel = panels + (row - base) * kTileWidth;
    int64_t i = 0;
    for (; i + kTileWidth <= dim; i += kTileWidth, panel += panel_rows * kTileWidth) {
      for (int64_t j = 0; j < kTileWidth; j += kLanes) {
        hn::StoreU(LoadLanes(d, Lane(), from + i + j), d, panel + j);
      }
    }
    for (int64_t j = 0; i < padded; ++i, ++j) {
      const auto lane = i < dim ? LoadLanes(d1, Lane(), from + i) : hn::Zero(d1);
      hn::StoreU(lane, d1, panel + j);
    }
  }
}

// The larger of x and least, and NaN where x is: x86 gives the second operand then, the emulation
// the other one, and other machines NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtLeast(D d, V x, float least) {
#if HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, least)), hn::Set(d, least), x);
#else
  return hn::Max(hn::Set(d, least), x);
#endif
}

// x = n + f with a whole number n and |f| <= 1/2, from -127 up.
template <class D>
struct Exponent {
  using V = hn::Vec<D>;
  HWY_INLINE Exponent(D d, V x) {
    const V round = hn::Set(d, 12582912.0f);  // leaves a whole number in the lowest bits
    x = AtLeast(d, x, -127.0f);
    shifted = hn::Add(x, round);
    f = hn::Sub(x, hn::Sub(shifted, round));
  }
  // p * 2^n.
  HWY_INLINE V Times(D d, V p) const {
    const hn::RebindToSigned<D> di;
    const auto n = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), n));
  }
  V shifted, f;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Polynomial(D d, V, float c) {
  return hn::Set(d, c);
}
template <class D, class... More, class V = hn::Vec<D>>
HWY_INLINE V Polynomial(D d, V x, float c, More... more) {
  return hn::MulAdd(Polynomial(d, x, more...), x, hn::Set(d, c));
}

// 2^x for x <= 0, within 1.7e-7 of it; 0 from -127 down and NaN where x is.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2(D d, V x) {
  const Exponent<D> e(d, x);
  return e.Times(d, Polynomial(d, e.f, 1.0f, 0x1.62e42ap-1f, 0x1.ebf9bcp-3f, 0x1.c6b752p-5f,
                               0x1.3cea88p-7f, 0x1.5bba14p-10f));
}

// cap * tanh(x log(2) / cap), within 4e-7 of it. tanh is -e / (2 + e) of e = exp(-2 |argument|) -
// 1, which is summed so that a small argument loses nothing.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SoftCap(D d, V x, V cap, V minus_2_by_cap) {
  const V one = hn::Set(d, 1.0f);
  const Exponent<D> e(d, hn::Mul(hn::Abs(x), minus_2_by_cap));
  const V q = hn::Mul(e.f, Polynomial(d, e.f, 0x1.62e43p-1f, 0x1.ebfbdep-3f, 0x1.c6afap-5f,
                                      0x1.3b2bb6p-7f, 0x1.5ef3c8p-10f, 0x1.42ed86p-13f));
  const V power = e.Times(d, one);
  const V below = hn::MulAdd(power, q, hn::Sub(power, one));
  const V tanh = hn::Div(below, hn::Add(hn::Set(d, 2.0f), below));
  return hn::CopySign(hn::Mul(cap, tanh), x);
}

// Scores are kept times log2(e).
constexpr float kLog2E = kQueryFactor;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

HWY_INLINE void CapScores(float* scores, int64_t begin, int64_t end, float soft_cap) {
  const FullTag d;
  const FullVector cap = hn::Set(d, soft_cap * kLog2E);
  const FullVector factor = hn::Set(d, -2 / soft_cap);
  for (int64_t n = begin; n < end; n += kLanes) {
    hn::StoreU(SoftCap(d, hn::LoadU(d, scores + n), cap, factor), d, scores + n);
  }
}

HWY_INLINE void AddBias(float* scores, const float* bias, int64_t count) {
  ForLanes(count, [&](auto d, int64_t n) {
    const auto sum =
        hn::MulAdd(hn::LoadU(d, bias + n), hn::Set(d, kLog2E), hn::LoadU(d, scores + n));
    hn::StoreU(sum, d, scores + n);
  });
}

// The largest of scores [begin, end), multiples of kLanes, and `least`.
HWY_INLINE float LargestScore(const float* scores, int64_t begin, int64_t end, float least) {
  const FullTag d;
  FullVector largest = hn::Set(d, least);
  for (int64_t n = begin; n < end; n += kLanes) {
    largest = hn::Max(largest, hn::LoadU(d, scores + n));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// scores = 2^(scores - largest); adds them to the kLanes partial sums.
HWY_INLINE void Exponentiate(float* scores, int64_t begin, int64_t end, float largest,
                             float* sums) {
  const FullTag d;
  const FullVector at_most = hn::Set(d, largest);
  FullVector sum = hn::LoadU(d, sums);
  for (int64_t n = begin; n < end; n += kLanes) {
    const FullVector p = Exp2(d, hn::Sub(hn::LoadU(d, scores + n), at_most));
    hn::StoreU(p, d, scores + n);
    sum = hn::Add(sum, p);
  }
  hn::StoreU(sum, d, sums);
}

HWY_INLINE void ScaleRow(float* row, int64_t count, float factor) {
  const FullTag d;
  for (int64_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row + i), hn::Set(d, factor)), d, row + i);
  }
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
