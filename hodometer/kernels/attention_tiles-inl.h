// Tiles of attention: products and packing. Included once per Highway target.

#include "hodometer/kernels/highway_config.h"

#if defined(HODOMETER_KERNELS_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HODOMETER_KERNELS_ATTENTION_TILES_INL_H_
#undef HODOMETER_KERNELS_ATTENTION_TILES_INL_H_
#else
#define HODOMETER_KERNELS_ATTENTION_TILES_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/kernels/dtype_lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FullTag = hn::ScalableTag<float>;
using FullVector = hn::Vec<FullTag>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(FullTag()));

// How far ahead rows of tokens are asked for.
constexpr int64_t kTokensAhead = 2;

// Asks for a row of so many elements before it is needed, into L2. Forced inline, for a call that
// does nothing else looks useless to the compiler.
template <class T>
HWY_INLINE void PrefetchRow(const T* row, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(row + i, 0, 2);
}

// Asks for rows [begin, end).
HWY_INLINE void PrefetchRows(const KeyRows& rows, int64_t dim, int64_t begin, int64_t end) {
  if (rows.load != nullptr) return;
  const int64_t size = dtype_size(rows.dtype);
  const char* data = static_cast<const char*>(rows.data);
  for (int64_t n = begin; n < end; ++n) PrefetchRow(data + n * rows.stride * size, dim * size);
}

// body(lane, data, stride) with rows of which [range.begin, range.end) are read: where they lie, or
// loaded into the memory given.
template <class Body>
HWY_INLINE void WithRows(const KeyRows& rows, int64_t dim, const KeyRange& range, float* loaded,
                         const Body& body) {
  if (rows.load != nullptr) {
    rows.load(rows.context, range.begin, range.end - range.begin, loaded);
    body(Float32Lane(), static_cast<const float*>(loaded) - range.begin * dim, dim);
    return;
  }
  WithLane(rows.dtype, [&](auto lane) {
    body(lane, static_cast<const typename decltype(lane)::Memory*>(rows.data), rows.stride);
  });
}

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

// How the left side of a product lies.
struct ByRows {
  static HWY_INLINE float At(const float* a, int64_t stride, int64_t row, int64_t k) {
    return a[row * stride + k];
  }
};
struct ByColumns {
  static HWY_INLINE float At(const float* a, int64_t stride, int64_t row, int64_t k) {
    return a[k * stride + row];
  }
};

// c (kRows x kTileWidth) = start + a (kRows x depth) b (depth x kTileWidth).
template <class From, int kRows, class Lane = Float32Lane, class Left = ByRows>
HWY_INLINE void MultiplyTile(const float* HWY_RESTRICT a, int64_t a_stride,
                             const typename Lane::Memory* HWY_RESTRICT b, int64_t b_stride,
                             int64_t depth, float* HWY_RESTRICT c, int64_t c_stride) {
  const FullTag d;
  FullVector sums[kRows][kTileVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kTileVectors; ++j) sums[i][j] = From::Start(c + i * c_stride + j * kLanes);
  }
  for (int64_t k = 0; k < depth; ++k) {
    FullVector columns[kTileVectors];
    for (int j = 0; j < kTileVectors; ++j) columns[j] = LoadLanes(d, Lane(), b + j * kLanes);
    for (int i = 0; i < kRows; ++i) {
      const FullVector x = hn::Set(d, Left::At(a, a_stride, i, k));
      for (int j = 0; j < kTileVectors; ++j) sums[i][j] = hn::MulAdd(x, columns[j], sums[i][j]);
    }
    b += b_stride;
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kTileVectors; ++j) hn::StoreU(sums[i][j], d, c + i * c_stride + j * kLanes);
  }
}

// outputs += weights . value rows, for kRows rows and lanes [begin, end).
template <int kRows, class Lane>
HWY_INLINE void AddValues(const float* weights, int64_t weight_stride,
                          const typename Lane::Memory* values, int64_t stride, int64_t keys,
                          int64_t begin, int64_t end, float* outputs, int64_t out_stride) {
  int64_t lane = begin;
  for (; lane + kTileWidth <= end; lane += kTileWidth) {
    MultiplyTile<FromMemory, kRows, Lane>(weights, weight_stride, values + lane, stride, keys,
                                          outputs + lane, out_stride);
  }
  ForLanesBelow<static_cast<size_t>(kLanes)>(lane, end, [&](auto d, int64_t at) {
    for (int row = 0; row < kRows; ++row) {
      auto sum = hn::LoadU(d, outputs + row * out_stride + at);
      for (int64_t n = 0; n < keys; ++n) {
        sum = hn::MulAdd(hn::Set(d, weights[row * weight_stride + n]),
                         LoadLanes(d, Lane(), values + n * stride + at), sum);
      }
      hn::StoreU(sum, d, outputs + row * out_stride + at);
    }
  });
}

// body(integral constant rows, first row) for runs of 4, 2 and 1 rows.
template <class Body>
HWY_INLINE void ForRows(int64_t rows, const Body& body) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) body(std::integral_constant<int, 4>(), row);
  for (; row + 2 <= rows; row += 2) body(std::integral_constant<int, 2>(), row);
  for (; row < rows; ++row) body(std::integral_constant<int, 1>(), row);
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

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
