#include <gtest/gtest.h>

#include "hodometer/ops/kv_cache_cases_test.h"
#include "hodometer/ops/kv_cache_state-inl.h"

namespace hodometer {
namespace {

using testing::CacheTruth;
using testing::shared_plan;

KvCache cache_of(std::shared_ptr<const Plan> plan, KvType type, KvRoom room,
                 KeyState keys = KeyState::turned) {
  return KvCache::make({2, 32, 16, type, room, keys}, std::move(plan)).value();
}

TEST(KvCacheState, ATileOfKeysIsItsTokensOneByOne) {
  const std::string text = testing::longrope_text(32);
  const PositionSpec spec = testing::spec_of(text);
  for (const auto& [keys, mode] : {std::pair(KeyState::turned, AngleMode::exact),
                                   std::pair(KeyState::turned, AngleMode::float32),
                                   std::pair(KeyState::unturned, AngleMode::exact)}) {
    KvCache cache = cache_of(shared_plan(spec, 40, mode), KvType::float16, KvPaged{5}, keys);
    CacheTruth truth(text, 60, 60, 2, 32, 16);
    truth.append(cache, 20, 0);
    ASSERT_TRUE(cache.shift_keys(TokenRange{3, 9}, 4).ok());
    ASSERT_TRUE(cache.reschedule_keys(shared_plan(spec, 60, mode)).ok());
    truth.append(cache, 30, 20);
    ASSERT_TRUE(cache.shift_keys(TokenRange{25, 40}, -2).ok());
    ASSERT_TRUE(cache.shift_keys(TokenRange{30, 45}, 7).ok());
    const internal::KvState& state = cache.state();
    std::vector<float> tile(47 * 32), row(32);
    state.load_keys(1, 2, 47, tile.data());
    for (int64_t i = 0; i < 47; ++i) {
      state.load_keys(1, 2 + i, 1, row.data());
      EXPECT_TRUE(std::equal(row.begin(), row.end(), tile.begin() + i * 32)) << i;
    }
  }
}

// A tile may hold tokens of one distance that do not go one way.
TEST(KvCacheState, Float32AnglesAreThoseOfThePosition) {
  const PositionSpec spec = testing::spec_of(testing::rotary_text(32, R"("layout":"half_split")"));
  const auto plan = shared_plan(spec, 1, AngleMode::float32);
  KvCache cache = cache_of(plan, KvType::float32, KvGrowing{});
  KvCache moved = cache_of(plan, KvType::float32, KvGrowing{});
  CacheTruth truth(spec_text(spec), 1, 30, 2, 32, 16);
  const HeadsView k = truth.key_rows(0, 30), v = truth.value_rows(0, 30);
  ASSERT_TRUE(cache.append(k, v, PositionView::range(131072)).ok());
  ASSERT_TRUE(moved.append(k, v, PositionView::range(5000)).ok());
  ASSERT_TRUE(moved.shift_keys(TokenRange{0, 30}, 126072).ok());
  std::vector<float> want(30 * 32), found(30 * 32);
  cache.state().load_keys(1, 0, 30, want.data());
  moved.state().load_keys(1, 0, 30, found.data());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(found[i], want[i], 2e-6) << i;
}

TEST(KvCacheState, ForgetsPlansThatNoKeyIsStoredBy) {
  const std::string text = testing::dynamic_text(32);
  KvCache cache = cache_of(shared_plan(text, 40), KvType::float32, KvGrowing{});
  CacheTruth truth(text, 40, 90, 2, 32, 16);
  truth.append(cache, 40, 0);
  for (int64_t length = 41; length <= 50; ++length) {
    ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, length)).ok());
    truth.append(cache, 1, length - 1);
  }
  EXPECT_EQ(cache.state().plans.size(), 11u);
  EXPECT_EQ(cache.pending(), 49);
  // Lengths that no token came at leave nothing.
  for (int64_t length = 51; length <= 90; ++length) {
    ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, length)).ok());
  }
  EXPECT_EQ(cache.state().plans.size(), 12u);
  ASSERT_TRUE(cache.truncate(40).ok());
  EXPECT_EQ(cache.state().plans.size(), 2u);
  cache.settle();
  EXPECT_EQ(cache.state().plans.size(), 1u);
  EXPECT_EQ(cache.pending(), 0);
  // Back to a length within the trained one, which is no memory of the long one.
  ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, 40)).ok());
  EXPECT_EQ(cache.pending(), 39 + 1);
}

TEST(KvCacheState, KeysThatComeBackAreNotPending) {
  const std::string text = testing::longrope_text(32);
  KvCache cache = cache_of(shared_plan(text, 40), KvType::int8, KvGrowing{});
  CacheTruth truth(text, 40, 30, 2, 32, 16);
  truth.append(cache, 30, 5);
  EXPECT_EQ(cache.pending(), 0);
  ASSERT_TRUE(cache.shift_keys(TokenRange{10, 30}, -3).ok());
  EXPECT_EQ(cache.pending(), 20);
  ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, 41)).ok());
  EXPECT_EQ(cache.pending(), 30);
  ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, 38)).ok());
  EXPECT_EQ(cache.pending(), 20);
  ASSERT_TRUE(cache.shift_keys(TokenRange{10, 30}, 3).ok());
  EXPECT_EQ(cache.pending(), 0);
}

}  // namespace
}  // namespace hodometer
