#include <gtest/gtest.h>

#include "hodometer/ops/kv_cache_cases_test.h"
#include "hodometer/ops/rotate.h"

namespace hodometer {
namespace {

using testing::CacheTruth;
using testing::Heads;
using testing::shared_plan;

constexpr int64_t head_dim = 64, kv_heads = 2, tokens = 24;
const std::string plain = testing::rotary_text(head_dim, R"("layout":"half_split")");

KvCache cache_of(std::shared_ptr<const Plan> plan, KvType type, KvRoom room = KvPaged{7}) {
  return KvCache::make({kv_heads, head_dim, 8, type, room}, std::move(plan)).value();
}

/// Signed distances, small and large, that come back to 0 after every four.
int64_t distance_of(int64_t step) {
  constexpr int64_t distances[] = {1, -977, 131072, -130096};
  return distances[step % 4];
}

TEST(KvCacheDrift, AThousandShiftsCostOneRounding) {
  for (const KvType type : testing::kv_types) {
    CacheTruth truth(plain, 1, tokens, kv_heads, head_dim, 8);
    KvCache cache = cache_of(shared_plan(plain), type);
    truth.append(cache, tokens, 1048575);
    double worst = testing::error_of(cache, truth).keys;
    EXPECT_GT(worst, type == KvType::float32 ? 0 - 1.0 : 0.1);  // the bound is no idle one
    for (int64_t step = 0; step < 1000; ++step) {
      ASSERT_TRUE(cache.shift_keys(TokenRange{2, tokens}, distance_of(step)).ok());
      truth.shift(2, tokens, distance_of(step));
      if (step % 100 < 4) worst = std::max(worst, testing::error_of(cache, truth).keys);
    }
    EXPECT_LE(worst, 1) << testing::kv_type_name(type);
    RecordProperty("roundings_" + testing::kv_type_name(type), std::to_string(worst));
  }
}

// What an engine does that turns the stored keys at every shift: the test above can fail.
TEST(KvCacheDrift, RoundingAtEveryShiftDrifts) {
  for (const KvType type : testing::kv_types) {
    if (type == KvType::float32) continue;
    CacheTruth truth(plain, 1, tokens, kv_heads, head_dim, 8);
    KvCache cache = cache_of(shared_plan(plain), type);
    truth.append(cache, tokens, 1048575);
    for (int64_t step = 0; step < 1000; ++step) {
      ASSERT_TRUE(cache.shift_keys(TokenRange{2, tokens}, distance_of(step)).ok());
      truth.shift(2, tokens, distance_of(step));
      cache.settle();
    }
    const double error = testing::error_of(cache, truth).keys;
    EXPECT_GT(error, 5) << testing::kv_type_name(type);
    RecordProperty("roundings_" + testing::kv_type_name(type), std::to_string(error));
  }
}

TEST(KvCacheDrift, SettlingCostsOneMoreRounding) {
  for (const KvType type : testing::kv_types) {
    CacheTruth truth(plain, 1, tokens, kv_heads, head_dim, 8);
    KvCache cache = cache_of(shared_plan(plain), type);
    truth.append(cache, tokens, 131072);
    for (int64_t step = 0; step < 99; ++step) {
      ASSERT_TRUE(cache.shift_keys(TokenRange{2, tokens}, distance_of(step)).ok());
      truth.shift(2, tokens, distance_of(step));
    }
    cache.settle();
    EXPECT_EQ(cache.pending(), 0);
    EXPECT_LE(testing::error_of(cache, truth).keys, 2.01);
    // From here on it is the settled keys that are turned.
    ASSERT_TRUE(cache.shift_keys(TokenRange{0, tokens}, -50000).ok());
    truth.shift(0, tokens, -50000);
    EXPECT_LE(testing::error_of(cache, truth).keys, 2.02);
  }
}

TEST(KvCacheDrift, SettlingTwiceIsSettlingOnce) {
  CacheTruth truth(plain, 1, tokens, kv_heads, head_dim, 8);
  KvCache cache = cache_of(shared_plan(plain), KvType::bfloat16, KvGrowing{});
  truth.append(cache, tokens, 7);
  ASSERT_TRUE(cache.shift_keys(TokenRange{0, tokens}, 12345).ok());
  cache.settle();
  Heads once = Heads::bshd(DType::float32, 1, tokens, kv_heads, head_dim), twice = once;
  ASSERT_TRUE(cache.read_keys({0, tokens}, once.view()).ok());
  cache.settle();
  ASSERT_TRUE(cache.read_keys({0, tokens}, twice.view()).ok());
  EXPECT_EQ(once, twice);
}

// Dynamic NTK with a new base for every token, there and back.
TEST(KvCacheDrift, HundredsOfSchedulesCostOneRounding) {
  const std::string text = testing::dynamic_text(head_dim, 16);
  for (const KvType type : testing::kv_types) {
    CacheTruth truth(text, 16, 400, kv_heads, head_dim, 8);
    KvCache cache = cache_of(shared_plan(text, 16), type);
    truth.append(cache, 16, 0);
    for (int64_t length = 17; length <= 400; ++length) {
      ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, length)).ok());
      truth.append(cache, 1, length - 1);
    }
    truth.context_length = 400;
    testing::expect_holds(cache, truth);
    // DYN-02: a short text after a long one goes by the plain base again.
    ASSERT_TRUE(cache.truncate(16).ok());
    truth.keep(0, 16);
    ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, 16)).ok());
    truth.context_length = 16;
    testing::expect_holds(cache, truth);
    EXPECT_EQ(cache.pending(), 0);
  }
}

TEST(KvCacheDrift, KeysAreTheBitsOfRotateUntilTheyShift) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const auto plan = shared_plan(plain);
    const KvType types[] = {KvType::float32, KvType::bfloat16, KvType::float16};
    KvCache cache = cache_of(plan, types[static_cast<size_t>(dtype)], KvGrowing{});
    Heads keys = Heads::bshd(dtype, 1, tokens, kv_heads, head_dim, 5), read = keys;
    CacheTruth values(plain, 1, tokens, kv_heads, head_dim, 8);
    ASSERT_TRUE(
        cache.append(keys.view(), values.value_rows(0, tokens), PositionView::range(131072)).ok());
    ASSERT_TRUE(rotate(*plan, keys.view(), PositionView::range(131072)).ok());
    ASSERT_TRUE(cache.read_keys({0, tokens}, read.view()).ok());
    EXPECT_EQ(read, keys);
  }
}

}  // namespace
}  // namespace hodometer
