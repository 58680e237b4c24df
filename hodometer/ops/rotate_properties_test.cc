#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "hodometer/ops/rotate.h"
#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::Heads;
using testing::plan_of;

const Plan& plan() {
  static const Plan made =
      plan_of(R"({"method":"rotary","head_dim":64,"layout":"half_split","base":10000})");
  return made;
}

rc::Gen<int64_t> any_position() { return rc::gen::inRange<int64_t>(-1000000, max_position - 64); }

double score(const Heads& q, const Heads& k) {
  double sum = 0;
  for (int64_t lane = 0; lane < 64; ++lane) sum += q.at(0, 0, 0, lane) * k.at(0, 0, 0, lane);
  return sum;
}

double score_at(const Heads& q, const Heads& k, int64_t m, int64_t n) {
  Heads turned_q = q;
  Heads turned_k = k;
  RC_ASSERT(rotate(plan(), turned_q.view(), PositionView::range(m)).ok());
  RC_ASSERT(rotate(plan(), turned_k.view(), PositionView::range(n)).ok());
  return score(turned_q, turned_k);
}

RC_GTEST_PROP(RotateProperties, ScoresDependOnTheDistanceAlone, (uint64_t seed)) {
  const Heads q = Heads::bshd(DType::float32, 1, 1, 1, 64, seed);
  const Heads k = Heads::bshd(DType::float32, 1, 1, 1, 64, seed + 1);
  const auto m = *any_position();
  const auto distance = *rc::gen::inRange<int64_t>(-1000000, 1000000);
  const auto shift = *rc::gen::inRange<int64_t>(-1000000, 1000000);
  const auto inside = [](int64_t position) { return std::abs(position) <= max_position; };
  RC_PRE(inside(m - distance) && inside(m + shift) && inside(m + shift - distance));
  const double here = score_at(q, k, m, m - distance);
  const double there = score_at(q, k, m + shift, m + shift - distance);
  // 64 products of at most 4, each with the error of two float32 rotations.
  RC_ASSERT(std::abs(here - there) < 64 * 4 * 1e-6);
}

RC_GTEST_PROP(RotateProperties, InverseUndoes, (uint64_t seed)) {
  const auto first = *any_position();
  const Heads before = Heads::bshd(DType::float32, 2, 3, 2, 64, seed);
  Heads after = before;
  RC_ASSERT(rotate(plan(), after.view(), PositionView::range(first)).ok());
  RC_ASSERT(rotate(plan(), after.view(), PositionView::range(first), {Direction::inverse}).ok());
  for (int64_t e = 0; e < before.elements(); ++e) {
    RC_ASSERT(std::abs(after.element(e) - before.element(e)) < 2e-6);
  }
}

// A context shift: turning by m and then by a negative shift is turning by what is left.
RC_GTEST_PROP(RotateProperties, TurnsAddUp, (uint64_t seed)) {
  const auto first = *any_position();
  const auto shift = -*rc::gen::inRange<int64_t>(0, 1000000);
  RC_PRE(first + shift >= -max_position);
  Heads twice = Heads::bshd(DType::float32, 1, 1, 2, 64, seed);
  Heads once = twice;
  RC_ASSERT(rotate(plan(), twice.view(), PositionView::range(first)).ok());
  RC_ASSERT(rotate(plan(), twice.view(), PositionView::range(shift)).ok());
  RC_ASSERT(rotate(plan(), once.view(), PositionView::range(first + shift)).ok());
  for (int64_t e = 0; e < once.elements(); ++e) {
    RC_ASSERT(std::abs(twice.element(e) - once.element(e)) < 2e-6);
  }
}

RC_GTEST_PROP(RotateProperties, TheNormIsKept, (uint64_t seed)) {
  const Heads before = Heads::bshd(DType::float32, 1, 1, 1, 64, seed);
  Heads after = before;
  RC_ASSERT(rotate(plan(), after.view(), PositionView::range(*any_position())).ok());
  RC_ASSERT(std::abs(score(before, before) - score(after, after)) < 64 * 4 * 1e-6);
}

RC_GTEST_PROP(RotateProperties, PositionZeroIsTheIdentity, (uint64_t seed)) {
  const auto dtype = *rc::gen::element(DType::float32, DType::bfloat16, DType::float16);
  const Heads before = Heads::bshd(dtype, 2, 1, 3, 64, seed);
  Heads after = before;
  RC_ASSERT(rotate(plan(), after.view(), PositionView::range(0)).ok());
  RC_ASSERT(after == before);
}

RC_GTEST_PROP(RotateProperties, RowsOfABatchDoNotKnowEachOther, (uint64_t seed)) {
  const auto batch = *rc::gen::inRange<int64_t>(1, 5);
  const auto length = *rc::gen::inRange<int64_t>(1, 5);
  const auto starts =
      *rc::gen::container<std::vector<int64_t>>(static_cast<size_t>(batch), any_position());
  Heads whole = Heads::bshd(DType::bfloat16, batch, length, 2, 64, seed);
  Heads single = whole;
  RC_ASSERT(rotate(plan(), whole.view(), PositionView::starts(starts)).ok());
  for (int64_t b = 0; b < batch; ++b) {
    HeadsView row = single.view();
    row.data = static_cast<char*>(row.data) + b * row.batch_stride * dtype_size(row.dtype);
    row.batch = 1;
    RC_ASSERT(rotate(plan(), row, PositionView::range(starts[static_cast<size_t>(b)])).ok());
  }
  RC_ASSERT(whole == single);
}

TEST(RotateProperties, ThreadsDoNotChangeABit) {
  for (
      const char* text :
      {R"({"method":"rotary","head_dim":64,"layout":"interleaved","base":10000})",
       R"({"method":"axial_rotary","head_dim":64,"layout":"half_split","base":10000,"axis_layout":"parts"})",
       R"({"method":"xpos","head_dim":64,"layout":"half_split","base":10000})"}) {
    const Plan any = plan_of(text);
    const PositionView positions = PositionView::range(30000).same_on_axes(any.num_axes());
    const RotateOptions options{Direction::forward, HeadRole::key};
    for (const auto& [batch, length] : {std::pair{2, 1111}, std::pair{1500, 1}}) {
      const Heads before = Heads::bshd(DType::float32, batch, length, 5, 64);
      Heads serial = before;
      ASSERT_TRUE(rotate(any, serial.view(), positions, options).ok());
      for (const int threads : {2, 3, 8}) {
        Heads parallel = before;
        const auto executor = make_executor(threads);
        ASSERT_TRUE(rotate(any, parallel.view(), positions, options, *executor).ok());
        EXPECT_EQ(parallel, serial) << text << " " << threads;
      }
    }
  }
}

// Fault: token * heads * dim in 32 bits. The memory is reserved and never filled.
TEST(RotateProperties, OffsetsPassThe32ndBit) {
  constexpr int64_t tokens = 65536, heads = 128, head_dim = 512;
  constexpr int64_t last = (tokens - 1) * heads * head_dim;
  static_assert(last == 4294901760);
  const size_t bytes = size_t{2} * tokens * heads * head_dim;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "cannot reserve " << bytes << " bytes";
  HeadsView view{memory, DType::bfloat16, 1, 2, heads, head_dim};
  view.length_stride = last;
  view.head_stride = head_dim;
  auto* far = static_cast<uint16_t*>(memory) + last + (heads - 1) * head_dim;
  std::fill_n(far, head_dim, uint16_t{0x3f80});  // 1
  const Plan wide =
      plan_of(R"({"method":"rotary","head_dim":512,"layout":"half_split","base":10000})");
  const PositionView positions = PositionView::range(6);
  const Status status = rotate(wide, view, positions);
  float first = 0;
  to_float32(DType::bfloat16, far, &first, 1);
  munmap(memory, bytes);
  ASSERT_TRUE(status.ok());
  EXPECT_NEAR(first, std::cos(7.0) - std::sin(7.0), 0x1p-9);
}

// Fault: request * window in 32 bits. 598 requests of 3600000 positions reach beyond the 31st bit.
TEST(RotateProperties, PositionsPassThe31stBit) {
  constexpr int64_t requests = 599, window = 3600000;
  static_assert(598 * window == 2152800000);
  const size_t bytes = size_t{requests} * window * sizeof(int64_t);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "cannot reserve " << bytes << " bytes";
  auto* ids = static_cast<int64_t*>(memory);
  for (int64_t b = 0; b < requests; ++b) ids[b * window] = 1000 + b;
  Heads by_ids = Heads::bshd(DType::float32, requests, 1, 1, 64);
  Heads by_starts = by_ids;
  Heads wanted = by_ids;
  const PositionView::Ids strided{ids, requests, 1, 0, window, 1};
  const Status ids_status = rotate(plan(), by_ids.view(), PositionView::strided(strided, 1));
  const Status starts_status = rotate(
      plan(), by_starts.view(), PositionView::strided(PositionView::Starts{ids, requests, window}));
  munmap(memory, bytes);
  std::vector<int64_t> starts;
  for (int64_t b = 0; b < requests; ++b) starts.push_back(1000 + b);
  ASSERT_TRUE(rotate(plan(), wanted.view(), PositionView::starts(starts)).ok());
  ASSERT_TRUE(ids_status.ok() && starts_status.ok());
  EXPECT_EQ(by_ids, wanted);
  EXPECT_EQ(by_starts, wanted);
}

// Fault: rows of 4096 or 8192 elements in 32 bits go wrong at token 524289 or 262145.
TEST(RotateProperties, RowsPassThe31stBit) {
  for (const auto& [width, tokens] : {std::pair{4096, 524289}, {8192, 262145}}) {
    const int64_t last = (int64_t{tokens} - 1) * width;
    ASSERT_EQ(last, int64_t{1} << 31);
    const size_t bytes = size_t{2} * static_cast<size_t>(last + width);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) GTEST_SKIP() << "cannot reserve " << bytes << " bytes";
    HeadsView view{memory, DType::bfloat16, 1, 2, width / 64, 64};
    view.length_stride = last;
    view.head_stride = 64;
    auto* far = static_cast<uint16_t*>(memory) + last + width - 64;
    std::fill_n(far, 64, uint16_t{0x3f80});  // 1
    const Status status = rotate(plan(), view, PositionView::range(tokens - 2));
    float first = 0;
    to_float32(DType::bfloat16, far, &first, 1);
    munmap(memory, bytes);
    ASSERT_TRUE(status.ok());
    EXPECT_NEAR(first, std::cos(tokens - 1) - std::sin(tokens - 1), 0x1p-8);
  }
}

}  // namespace
}  // namespace hodometer
