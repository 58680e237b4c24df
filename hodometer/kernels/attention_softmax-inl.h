// The softmax of attention, tile by tile. Included once per Highway target.

#include "hodometer/kernels/highway_config.h"

#if defined(HODOMETER_KERNELS_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HODOMETER_KERNELS_ATTENTION_SOFTMAX_INL_H_
#undef HODOMETER_KERNELS_ATTENTION_SOFTMAX_INL_H_
#else
#define HODOMETER_KERNELS_ATTENTION_SOFTMAX_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/kernels/attention_tiles-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hodometer::HWY_NAMESPACE {

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
// Below every score; unlike -inf it has differences.
constexpr float kNothingSeen = std::numeric_limits<float>::lowest();
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
  FullVector largest = hn::Set(d, least), other = largest;
  int64_t n = begin;
  for (; n + 4 * kLanes <= end; n += 4 * kLanes) {
    const float* four = scores + n;
    largest = hn::Max(largest, hn::LoadU(d, four));
    other = hn::Max(other, hn::LoadU(d, four + kLanes));
    largest = hn::Max(largest, hn::LoadU(d, four + 2 * kLanes));
    other = hn::Max(other, hn::LoadU(d, four + 3 * kLanes));
  }
  for (; n < end; n += kLanes) largest = hn::Max(largest, hn::LoadU(d, scores + n));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(largest, other)));
}

// scores = 2^(scores - largest); adds them to the kLanes partial sums.
HWY_INLINE void Exponentiate(float* scores, int64_t begin, int64_t end, float largest,
                             float* sums) {
  const FullTag d;
  const FullVector at_most = hn::Set(d, largest);
  FullVector sum = hn::LoadU(d, sums);
  const auto power = [&](int64_t n) HWY_ATTR {
    const FullVector p = Exp2(d, hn::Sub(hn::LoadU(d, scores + n), at_most));
    hn::StoreU(p, d, scores + n);
    sum = hn::Add(sum, p);
  };
  int64_t n = begin;
  for (; n + 2 * kLanes <= end; n += 2 * kLanes) {
    power(n);
    power(n + kLanes);
  }
  if (n < end) power(n);
  hn::StoreU(sum, d, sums);
}

HWY_INLINE void ScaleRow(float* row, int64_t count, float factor) {
  const FullTag d;
  for (int64_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row + i), hn::Set(d, factor)), d, row + i);
  }
}

// Rows of a block and what was summed of them up to now: 2^(score - largest), times the values in
// `outputs`.
struct RunningRows {
  static constexpr int64_t kSumStride = 16;  // a partial sum per lane

  HWY_INLINE void Start(int64_t rows) {
    std::fill_n(outputs, rows * out_stride, 0.0f);
    std::fill_n(maxima, rows, kNothingSeen);
    std::fill_n(sums, rows * kSumStride, 0.0f);
  }
  HWY_INLINE float Sum(int64_t row) const {
    const FullTag d;
    return hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, sums + row * kSumStride)));
  }
  float* maxima;
  float* sums;
  float* outputs;
  int64_t out_stride;
};

// Products of rows [first_row, first_row + rows) with the keys from `first_key` on, at
// scores[row * stride + key], for keys `seen` from there on. kLanes around them are written, too.
struct ScoreTile {
  int64_t first_row, rows;
  int64_t first_key;
  KeyRange seen;
  float* scores;
  int64_t stride;
  float* bias;  // as scores; for a bias by tile

  HWY_INLINE float* Row(int64_t i) const { return scores + i * stride; }
  HWY_INLINE int64_t Begin() const { return seen.begin / kLanes * kLanes; }
  HWY_INLINE int64_t End() const { return (seen.end + kLanes - 1) / kLanes * kLanes; }
};

// Caps the scores of row i, which is of this token and head, adds the bias and hides what the row
// does not see.
HWY_INLINE void FinishScores(const AttentionBlock& block, const ScoreTile& tile, int64_t i,
                             int64_t token, int64_t head) {
  const int64_t begin = tile.Begin(), end = tile.End();
  const KeyRange& range = block.ranges[token];
  const int64_t row_begin =
      std::clamp(range.begin - tile.first_key, tile.seen.begin, tile.seen.end);
  const int64_t row_end = std::clamp(range.end - tile.first_key, row_begin, tile.seen.end);
  float* scores = tile.Row(i);
  if (block.soft_cap > 0) CapScores(scores, begin, end, block.soft_cap);
  if (block.bias.data != nullptr) {
    const int64_t at = head * block.bias.head_stride + token * block.bias.token_stride;
    AddBias(scores + row_begin, block.bias.data + (at + tile.first_key + row_begin),
            row_end - row_begin);
  } else if (block.bias.fill != nullptr) {
    AddBias(scores + row_begin, tile.bias + i * tile.stride + row_begin, row_end - row_begin);
  }
  for (int64_t n = begin; n < row_begin; ++n) scores[n] = kHidden;
  for (int64_t n = row_end; n < end; ++n) scores[n] = kHidden;
}

// Makes scores to powers, and what was summed before one of the same largest score.
HWY_INLINE void UpdateSoftmax(const AttentionBlock& block, const RunningRows& running,
                              const ScoreTile& tile) {
  const int64_t begin = tile.Begin(), end = tile.End();
  float* maxima = running.maxima + tile.first_row;
  float* sums = running.sums + tile.first_row * RunningRows::kSumStride;
  if (block.bias.data == nullptr && block.bias.fill != nullptr) {
    const int64_t keys = tile.seen.end - tile.seen.begin;
    block.bias.fill(block.bias.context,
                    {tile.first_row, tile.rows, tile.first_key + tile.seen.begin, keys,
                     tile.bias + tile.seen.begin, tile.stride});
  }
  int64_t token = tile.first_row / block.group;
  int64_t head = tile.first_row - token * block.group;
  for (int64_t i = 0; i < tile.rows; ++i) {
    FinishScores(block, tile, i, token, head);
    if (++head == block.group) {
      head = 0;
      ++token;
    }
    const float largest = LargestScore(tile.Row(i), begin, end, maxima[i]);
    if (largest == maxima[i]) continue;
    const hn::CappedTag<float, 1> d1;
    const float factor = hn::GetLane(Exp2(d1, hn::Set(d1, maxima[i] - largest)));
    ScaleRow(running.outputs + (tile.first_row + i) * running.out_stride, running.out_stride,
             factor);
    ScaleRow(sums + i * RunningRows::kSumStride, RunningRows::kSumStride, factor);
    maxima[i] = largest;
  }
  for (int64_t i = 0; i < tile.rows; ++i) {
    Exponentiate(tile.Row(i), begin, end, maxima[i], sums + i * RunningRows::kSumStride);
  }
  if (block.value_table.num_rows == 0) return;
  block.value_table.add(
      block.value_table.context,
      {tile.first_row, tile.rows, tile.first_key + tile.seen.begin, tile.seen.end - tile.seen.begin,
       tile.scores + tile.seen.begin, tile.stride,
       running.outputs + tile.first_row * running.out_stride + whole_panels(block.value_dim),
       running.out_stride});
}

// What the table adds to rows [0, rows) of outputs.
HWY_INLINE void AddTableValues(const AttentionBlock& block, const RunningRows& running,
                               int64_t rows) {
  if (block.value_table.num_rows == 0) return;
  ForRows(rows, [&](auto count, int64_t row) {
    float* outputs = running.outputs + row * running.out_stride;
    AddValues<count(), Float32Lane>(outputs + whole_panels(block.value_dim), running.out_stride,
                                    block.value_table.data, block.value_dim,
                                    block.value_table.num_rows, 0, block.value_dim, outputs,
                                    running.out_stride);
  });
}

// Writes a row of the output, and its logarithm where asked for.
template <class Lane>
HWY_INLINE void WriteRow(const AttentionBlock& block, int64_t row, float largest, float sum,
                         const float* outputs) {
  const int64_t token = row / block.group, head = row % block.group;
  auto* out = static_cast<typename Lane::Memory*>(block.out.data) + token * block.out.token_stride +
              head * block.out.head_stride;
  PrefetchRow(out + kTokensAhead * block.out.token_stride, block.value_dim);
  const float factor = sum == 0 ? 0 : 1 / sum;
  ForLanes(block.value_dim, [&](auto d, int64_t i) {
    StoreLanes(d, Lane(), hn::Mul(hn::LoadU(d, outputs + i), hn::Set(d, factor)), out + i);
  });
  if (block.log_sum == nullptr) return;
  const double log2_sum = std::log2(static_cast<double>(sum)) + static_cast<double>(largest);
  block.log_sum[token * block.log_sum_token_stride + head * block.log_sum_head_stride] =
      sum == 0 ? kHidden : static_cast<float>(log2_sum * 0.69314718055994531);
}

}  // namespace hodometer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
