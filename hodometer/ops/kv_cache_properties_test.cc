#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hodometer/ops/kv_cache_cases_test.h"

namespace hodometer {
namespace {

using testing::CacheTruth;
using testing::shared_plan;

constexpr int64_t rows = 400, head_dim = 16;

/// A cache beside the truth about it, and what may be done to both.
struct Pair {
  KvCache cache;
  CacheTruth truth;

  int64_t tokens() const { return cache.tokens(); }
  TokenRange any_range() const {
    const auto begin = *rc::gen::inRange<int64_t>(0, tokens() + 1);
    return {begin, *rc::gen::inRange<int64_t>(begin, tokens() + 1)};
  }
  void append() {
    const auto count = *rc::gen::inRange<int64_t>(0, std::min<int64_t>(12, rows - truth.next) + 1);
    truth.append(cache, count, *rc::gen::inRange<int64_t>(-1000, 1500000));
  }
  void shift() {
    const TokenRange range = any_range();
    const auto distance = *rc::gen::inRange<int64_t>(-200000, 200000);
    RC_ASSERT(cache.shift_keys(range, distance).ok());
    truth.shift(range.begin, range.end, distance);
  }
  void reschedule() {
    // Every position may be that of a text of this length.
    truth.context_length = *rc::gen::element<int64_t>(100000000, 150000000, 200000000);
    RC_ASSERT(cache.reschedule_keys(shared_plan(truth.spec, truth.context_length)).ok());
  }
  void drop() {
    const TokenRange range = any_range();
    RC_ASSERT(cache.drop(range).ok());
    truth.drop(range.begin, range.end);
  }
  void stream() {
    const auto sinks = *rc::gen::inRange<int64_t>(0, 9);
    const auto window = *rc::gen::inRange<int64_t>(0, 30);
    RC_ASSERT(cache.keep_sinks_and_window(sinks, window).ok());
    if (sinks + window < static_cast<int64_t>(truth.sources.size())) {
      truth.drop(sinks, static_cast<int64_t>(truth.sources.size()) - window);
    }
  }
  void truncate() {
    const auto length = *rc::gen::inRange<int64_t>(0, tokens() + 1);
    RC_ASSERT(cache.truncate(length).ok());
    truth.keep(0, length);
  }
};

RC_GTEST_PROP(KvCacheProperties, StaysRightWhateverIsDone, ()) {
  const std::string text = *rc::gen::elementOf(std::vector<std::string>{
      testing::dynamic_text(head_dim), testing::longrope_text(head_dim),
      testing::rotary_text(head_dim, R"("layout":"interleaved","rotary_dim":8)"),
      R"({"method":"alibi","num_heads":2})"});
  const auto type = *rc::gen::elementOf(testing::kv_types);
  const KvRoom room =
      *rc::gen::element<KvRoom>(KvGrowing{1}, KvFixed{rows}, KvPaged{1}, KvPaged{6});
  const auto keys = *rc::gen::element(KeyState::turned, KeyState::unturned);
  constexpr int64_t length = 100000000;
  Pair pair{KvCache::make({2, head_dim, 4, type, room, keys}, shared_plan(text, length)).value(),
            CacheTruth(text, length, rows, 2, head_dim, 4)};
  constexpr void (Pair::*doings[])() = {&Pair::append, &Pair::append, &Pair::append,
                                        &Pair::shift,  &Pair::shift,  &Pair::reschedule,
                                        &Pair::drop,   &Pair::stream, &Pair::truncate};
  const auto steps =
      *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, std::size(doings)));
  for (const size_t step : steps) (pair.*doings[step])();
  RC_ASSERT(pair.cache.tokens() == static_cast<int64_t>(pair.truth.sources.size()));
  RC_ASSERT(std::equal(pair.truth.positions.begin(), pair.truth.positions.end(),
                       pair.cache.positions().begin(), pair.cache.positions().end()));
  const testing::CacheError error = testing::error_of(pair.cache, pair.truth);
  RC_ASSERT(error.keys <= 1);
  RC_ASSERT(error.values <= 1);
  RC_ASSERT(pair.cache.memory().used <= pair.cache.memory().allocated);
}

// One shift by a + b is a shift by a and one by b, bit for bit, in any order.
RC_GTEST_PROP(KvCacheProperties, ShiftsAddUp, ()) {
  const std::string text = testing::rotary_text(head_dim, R"("layout":"half_split")");
  const auto type = *rc::gen::elementOf(testing::kv_types);
  const auto a = *rc::gen::inRange<int64_t>(-1000000, 1000000);
  const auto b = *rc::gen::inRange<int64_t>(-1000000, 1000000);
  const auto read = [&](const std::vector<int64_t>& distances) {
    KvCache cache = KvCache::make({2, head_dim, 4, type, KvPaged{3}}, shared_plan(text)).value();
    CacheTruth truth(text, 1, 8, 2, head_dim, 4);
    truth.append(cache, 8, 1000);
    for (const int64_t distance : distances) {
      RC_ASSERT(cache.shift_keys(TokenRange{0, 8}, distance).ok());
    }
    testing::Heads keys = testing::Heads::bshd(DType::float32, 1, 8, 2, head_dim);
    RC_ASSERT(cache.read_keys({0, 8}, keys.view()).ok());
    return keys;
  };
  RC_ASSERT(read({a, b}) == read({a + b}));
  RC_ASSERT(read({b, a}) == read({a + b}));
  RC_ASSERT(read({a, -a}) == read({}));
}

}  // namespace
}  // namespace hodometer
