#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "hodometer/ops/add_rows.h"
#include "hodometer/ops/allocations_test.h"
#include "hodometer/ops/make_table.h"
#include "hodometer/ops/rotate.h"

namespace {

std::atomic<int64_t> count{0}, live_bytes{0}, peak_bytes{0};

}  // namespace

namespace hodometer::testing {

Allocations allocations() { return {count, live_bytes, peak_bytes}; }
void forget_peak() { peak_bytes = live_bytes.load(); }

}  // namespace hodometer::testing

// Not inlined: the compiler would otherwise see malloc and delete as a pair that does not match.
[[gnu::noinline]] void* operator new(size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  ++count;
  const int64_t live = live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  for (int64_t peak = peak_bytes; live > peak;) {
    if (peak_bytes.compare_exchange_weak(peak, live)) break;
  }
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace hodometer {
namespace {

Plan plan_of(const char* text) { return make_plan(parse_spec(text).value(), 1).value(); }

template <class Call>
int64_t allocations_of(const Call& call) {
  EXPECT_TRUE(call().ok());  // the first call chooses the instruction set
  const int64_t before = testing::allocations().count;
  EXPECT_TRUE(call().ok());
  return testing::allocations().count - before;
}

TEST(RotateAllocation, OneTokenTakesNoMemory) {
  const Plan plan =
      plan_of(R"({"method":"rotary","head_dim":64,"layout":"half_split","base":1e4})");
  std::array<float, 32 * 64> q{};
  std::array<uint16_t, 8 * 64> k{};
  const std::array tensors{HeadsView::bshd(q.data(), DType::float32, 1, 1, 32, 64),
                           HeadsView::bshd(k.data(), DType::bfloat16, 1, 1, 8, 64)};
  const std::array<int64_t, 1> start{70000};
  EXPECT_EQ(allocations_of([&] { return rotate(plan, tensors, PositionView::starts(start)); }), 0);
}

TEST(RotateAllocation, NeitherDoRowsAndTables) {
  const Plan rows =
      plan_of(R"({"method":"sinusoidal","dim":65,"layout":"interleaved","offset":2})");
  std::array<float, 3 * 65> x{};
  EXPECT_EQ(allocations_of([&] {
              return add_rows(rows, EmbeddingsView::contiguous(x.data(), DType::float32, 1, 3, 65),
                              PositionView::range(7));
            }),
            0);
  const Plan plan = plan_of(R"({"method":"xpos","head_dim":64,"layout":"half_split","base":1e4})");
  std::array<float, 3 * 32> cos{}, sin{};
  EXPECT_EQ(allocations_of([&] {
              return make_table(plan, PositionView::range(7), 3, cos, sin, HeadRole::query);
            }),
            0);
}

}  // namespace
}  // namespace hodometer
