#include "hodometer/ops/kv_cache.h"

#include <gtest/gtest.h>

#include "hodometer/ops/kv_cache_cases_test.h"
#include "hodometer/position/grid_ids.h"

namespace hodometer {
namespace {

using testing::CacheTruth;
using testing::Heads;
using testing::rotary_text;
using testing::shared_plan;
using testing::words_of;

const std::string plain = rotary_text(32, R"("layout":"half_split")");

KvCache cache_of(std::string_view text, KvCacheOptions options = {2, 32, 16},
                 int64_t context_length = 1) {
  return KvCache::make(options, shared_plan(text, context_length)).value();
}

std::vector<int64_t> positions_of(const KvCache& cache) {
  return {cache.positions().begin(), cache.positions().end()};
}

TEST(KvCache, RefusesSizesThatMakeNoSense) {
  const auto refusal = [](const KvCacheOptions& options, std::string_view text = plain) {
    const auto made = KvCache::make(options, shared_plan(text));
    return made.ok() ? "accepted" : made.error().message;
  };
  EXPECT_EQ(refusal({0, 32, 16}), "kv_cache: make: num_kv_heads is 0: expected 1 to 1048576");
  EXPECT_EQ(refusal({2, 513, 16}), "kv_cache: make: head_dim is 513: expected 1 to 512");
  EXPECT_EQ(refusal({2, 32, -1}), "kv_cache: make: value_dim is -1: expected 1 to 512");
  EXPECT_EQ(refusal({2, 64, 16}), "kv_cache: make: head_dim is 64: expected the plan's 32");
  EXPECT_EQ(refusal({2, 64, 16}, R"({"method":"nope"})"), "accepted");
  EXPECT_EQ(refusal({2, 32, 16, KvType::int8, KvPaged{0}}),
            "kv_cache: make: page_size is 0: expected 1 to 2147483648");
  EXPECT_EQ(refusal({2, 32, 16, KvType::int8, KvFixed{-3}}),
            "kv_cache: make: capacity is -3: expected 1 to 2147483648");
  EXPECT_EQ(refusal({2, 32, 16, KvType::int8, KvGrowing{0}}),
            "kv_cache: make: first_capacity is 0: expected 1 to 2147483648");
  // 2^31 * 2^20 * 2^11 bytes: never asked of the system.
  for (const KvRoom& room : std::vector<KvRoom>{
           KvFixed{int64_t{1} << 31}, KvPaged{int64_t{1} << 31}, KvGrowing{int64_t{1} << 31}}) {
    EXPECT_EQ(refusal({1 << 20, 512, 512, KvType::float32, room}, R"({"method":"nope"})"),
              "kv_cache: 2147483648 tokens of 4294967296 bytes: expected less than 2^62 bytes");
  }
  const std::string xpos = R"({"method":"xpos","head_dim":32,"layout":"half_split","base":10000})";
  EXPECT_EQ(
      refusal({2, 32, 16, KvType::int8}, xpos),
      "kv_cache: make: int8 keys turned by xpos, whose pairs shrink at rates of their own and "
      "would share a scale: expected keys to be stored unturned");
  EXPECT_EQ(refusal({2, 32, 16, KvType::int8, KvGrowing{}, KeyState::unturned}, xpos), "accepted");
  EXPECT_EQ(KvCache::make({2, 32, 16}, nullptr).error().message,
            "kv_cache: make: there is no plan");
}

TEST(KvCache, RefusesTokensThatDoNotFit) {
  KvCache cache = cache_of(plain, {2, 32, 16, KvType::float32, KvFixed{4}});
  CacheTruth truth(plain, 1, 9, 2, 32, 16);
  const auto refusal = [&](const HeadsView& k, const HeadsView& v, const PositionView& positions) {
    return words_of(cache.append(k, v, positions));
  };
  const HeadsView k = truth.key_rows(0, 3), v = truth.value_rows(0, 3);
  const PositionView here = PositionView::range(0);
  EXPECT_EQ(refusal(v, v, here), "kv_cache: append: k is [1, 3, 2, 16]: expected [1, 3, 2, 32]");
  EXPECT_EQ(refusal(k, truth.value_rows(0, 2), here),
            "kv_cache: append: v is [1, 2, 2, 16]: expected [1, 3, 2, 16]");
  HeadsView two = k;
  two.batch = 2;
  two.length = 1;
  EXPECT_EQ(refusal(two, v, here), "kv_cache: append: k is [2, 1, 2, 32]: expected [1, 1, 2, 32]");
  HeadsView nothing = k;
  nothing.data = nullptr;
  EXPECT_EQ(refusal(nothing, v, here), "kv_cache: append: k: the tensor has no data");
  const std::vector<int64_t> few{1, 2};
  EXPECT_EQ(refusal(k, v, PositionView::shared_ids(few)),
            "kv_cache: append: positions have 2 tokens: expected 3");
  EXPECT_EQ(refusal(k, v, here.same_on_axes(3)),
            "kv_cache: append: positions have 3 axes and the plan has 1: expected as many "
            "(same_on_axes gives text the same position on all)");
  const double fractions[] = {0, 1.5, 2};
  EXPECT_EQ(refusal(k, v, PositionView::coordinates(fractions, 1, 1, 3)),
            "kv_cache: append: positions are coordinates: expected whole numbers");
  EXPECT_EQ(refusal(k, v, PositionView::range(max_position - 1)),
            "kv_cache: append: position 2147483648 (row 0, token 2): expected -2147483647 to "
            "2147483647");
  EXPECT_EQ(cache.tokens(), 0);
  truth.append(cache, 3, 0);
  EXPECT_EQ(refusal(truth.key_rows(3, 2), truth.value_rows(3, 2), PositionView::range(3)),
            "kv_cache: 2 tokens beside 3: expected at most the capacity of 4");
  testing::expect_holds(cache, truth);
  // No token is no work, even without room.
  EXPECT_EQ(refusal(truth.key_rows(0, 0), truth.value_rows(0, 0), PositionView::range(3)),
            "accepted");
}

TEST(KvCache, RefusesPositionsBeyondItsPlan) {
  KvCache cache = cache_of(testing::longrope_text(32), {2, 32, 16}, 40);
  CacheTruth truth(testing::longrope_text(32), 40, 41, 2, 32, 16);
  truth.append(cache, 40, 0);
  EXPECT_EQ(words_of(cache.append(truth.key_rows(40, 1), truth.value_rows(40, 1),
                                  PositionView::range(40))),
            "kv_cache: append: position 40 (row 0, token 0): the plan was made for context_length "
            "40, and beyond position 39 its frequencies change with the length: expected a plan "
            "for the longer sequence");
  EXPECT_EQ(words_of(cache.shift_keys(TokenRange{30, 40}, 1)),
            "kv_cache: shift_keys: token 39 from position 39 by 1: expected positions from "
            "-2147483647 to 39, which the plan for context_length 40 serves");
  ASSERT_TRUE(cache.reschedule_keys(shared_plan(testing::longrope_text(32), 41)).ok());
  EXPECT_TRUE(cache.shift_keys(TokenRange{39, 40}, 1).ok());
  EXPECT_EQ(
      words_of(cache.reschedule_keys(shared_plan(testing::longrope_text(32), 40))).substr(0, 79),
      "kv_cache: reschedule_keys: position 40 (row 0, token 39): the plan was made for");
}

TEST(KvCache, CanShiftSaysWhatCannotBe) {
  const auto reason = [](std::string_view text) {
    return words_of(can_shift(testing::spec_of(text)));
  };
  for (const testing::AttentionMethod& method : testing::cache_methods(32, 2)) {
    EXPECT_EQ(can_shift(testing::spec_of(method.text)).ok(), method.name != "mrope");
  }
  EXPECT_EQ(reason(R"({"method":"mrope","head_dim":32,"base":10000,"layout":"half_split",
                       "mrope_section":[8,4,4],"section_layout":"chunked"})"),
            "can_shift: mrope has positions on several axes, where a shift by one distance has no "
            "meaning");
  EXPECT_EQ(reason(R"({"method":"axial_rotary","head_dim":32,"base":100,"layout":"half_split",
                       "axis_layout":"blocks"})"),
            "can_shift: axial_rotary has positions on several axes, where a shift by one distance "
            "has no meaning");
  EXPECT_EQ(reason(R"({"method":"learned","dim":8,"max_position_embeddings":16})"),
            "can_shift: learned adds a row to the embedding of each token, which is inside of its "
            "key and cannot be taken out");
  KvCache cache = cache_of(testing::cache_methods(32, 2).back().text);
  CacheTruth truth(testing::cache_methods(32, 2).back().text, 1, 4, 2, 32, 16);
  truth.append(cache, 4, 0);
  const Status refused = cache.shift_keys(TokenRange{0, 4}, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().message.substr(0, 51),
            "kv_cache: shift_keys: can_shift: mrope has position");
  testing::expect_holds(cache, truth);
}

TEST(KvCache, RefusesShiftsOutOfRange) {
  KvCache cache = cache_of(plain);
  CacheTruth truth(plain, 1, 4, 2, 32, 16);
  truth.append(cache, 4, 10);
  EXPECT_EQ(
      words_of(cache.shift_keys(TokenRange{2, 5}, 1)),
      "kv_cache: shift_keys: tokens 2 to 5 (not included): expected within 0 to 4, the tokens "
      "of the cache");
  const auto refusal = [&](int64_t distance) {
    return words_of(cache.shift_keys(TokenRange{0, 4}, distance));
  };
  const std::string expected =
      ": expected positions from -2147483647 to 2147483647, which the plan for context_length 1 "
      "serves";
  EXPECT_EQ(refusal(max_position - 11),
            "kv_cache: shift_keys: token 2 from position 12 by 2147483636" + expected);
  EXPECT_EQ(refusal(INT64_MAX),
            "kv_cache: shift_keys: token 0 from position 10 by 9223372036854775807" + expected);
  EXPECT_EQ(refusal(-max_position - 11),
            "kv_cache: shift_keys: token 0 from position 10 by -2147483658" + expected);
  EXPECT_EQ(cache.pending(), 0);
  testing::expect_holds(cache, truth);
}

TEST(KvCache, XposGoesAsFarAsFloat32) {
  const std::string text =
      R"({"method":"xpos","head_dim":32,"layout":"half_split","base":10000,"scale_base":512})";
  KvCache cache = cache_of(text);
  CacheTruth truth(text, 1, 2, 2, 32, 16);
  truth.append(cache, 2, 30000);
  EXPECT_EQ(words_of(cache.shift_keys(TokenRange{0, 2}, -60000)).substr(0, 74),
            "kv_cache: shift_keys: from position 30000 to -30000 pair 0 of xpos is mult");
  EXPECT_EQ(words_of(cache.shift_keys(TokenRange{0, 2}, 60000)).substr(0, 56),
            "kv_cache: shift_keys: position 90000 (row 0, token 0): e");
  ASSERT_TRUE(cache.shift_keys(TokenRange{0, 2}, -25000).ok());
  truth.shift(0, 2, -25000);
  testing::expect_holds(cache, truth);
}

TEST(KvCache, RefusesPlansThatTurnOtherLanes) {
  KvCache cache = cache_of(plain);
  EXPECT_EQ(words_of(cache.reschedule_keys(shared_plan(R"({"method":"nope"})"))),
            "kv_cache: reschedule_keys: method of the plan is nope: expected the cache's rotary");
  EXPECT_EQ(
      words_of(cache.reschedule_keys(shared_plan(rotary_text(32, R"("layout":"interleaved")")))),
      "kv_cache: reschedule_keys: layout of the plan is interleaved: expected the cache's "
      "half_split");
  EXPECT_EQ(words_of(cache.reschedule_keys(nullptr)),
            "kv_cache: reschedule_keys: there is no plan");
}

TEST(KvCache, DropsAndKeepsTokens) {
  for (const KvRoom& room : testing::kv_rooms) {
    KvCache cache = cache_of(plain, {2, 32, 16, KvType::bfloat16, room});
    CacheTruth truth(plain, 1, 50, 2, 32, 16);
    EXPECT_EQ(cache.next_position(), 0);
    truth.append(cache, 30, 100);
    EXPECT_EQ(cache.next_position(), 130);
    ASSERT_TRUE(cache.drop({10, 13}).ok());
    truth.drop(10, 13);
    testing::expect_holds(cache, truth);
    ASSERT_TRUE(cache.keep_sinks_and_window(4, 8).ok());
    truth.drop(4, 19);
    testing::expect_holds(cache, truth);
    EXPECT_EQ(cache.positions()[4], 122);
    truth.append(cache, 20, cache.next_position());
    testing::expect_holds(cache, truth);
    ASSERT_TRUE(cache.truncate(9).ok());
    truth.drop(9, 32);
    testing::expect_holds(cache, truth);
    EXPECT_EQ(cache.next_position(), 127);
    // More than there is drops nothing.
    ASSERT_TRUE(cache.keep_sinks_and_window(5, 4).ok());
    ASSERT_TRUE(cache.keep_sinks_and_window(50, 40).ok());
    ASSERT_TRUE(cache.drop({3, 3}).ok());
    testing::expect_holds(cache, truth);
    ASSERT_TRUE(cache.keep_sinks_and_window(0, 2).ok());
    EXPECT_EQ(positions_of(cache), (std::vector<int64_t>{125, 126}));
    cache.clear();
    EXPECT_EQ(cache.tokens(), 0);
    EXPECT_EQ(cache.next_position(), 0);
  }
}

TEST(KvCache, RefusesTokensThatAreNotThere) {
  KvCache cache = cache_of(plain);
  CacheTruth truth(plain, 1, 9, 2, 32, 16);
  truth.append(cache, 9, 0);
  EXPECT_EQ(words_of(cache.drop({4, 10})),
            "kv_cache: drop: tokens 4 to 10 (not included): expected within 0 to 9, the tokens of "
            "the cache");
  EXPECT_EQ(words_of(cache.drop({4, 3})),
            "kv_cache: drop: tokens 4 to 3 (not included): expected within 0 to 9, the tokens of "
            "the cache");
  EXPECT_EQ(words_of(cache.truncate(10)),
            "kv_cache: truncate: tokens 0 to 10 (not included): expected within 0 to 9, the tokens "
            "of the cache");
  EXPECT_EQ(words_of(cache.keep_sinks_and_window(-1, 4)),
            "kv_cache: keep_sinks_and_window: sinks is -1 and window 4: expected 0 or more");
  const TokenRange crossed[] = {{0, 5}, {4, 6}};
  EXPECT_EQ(
      words_of(cache.keep(crossed)),
      "kv_cache: keep: a range from token 4 on after one up to 5: expected ranges that ascend "
      "and do not overlap");
  testing::expect_holds(cache, truth);
}

TEST(KvCache, ShiftsByPositionToo) {
  KvCache cache = cache_of(plain);
  CacheTruth truth(plain, 1, 12, 2, 32, 16);
  truth.append(cache, 6, 50);
  truth.append(cache, 6, 0);
  ASSERT_TRUE(cache.shift_keys(PositionInterval{2, 52}, -2).ok());
  EXPECT_EQ(positions_of(cache), (std::vector<int64_t>{48, 49, 50, 53, 54, 55, 0, 1, 0, 1, 2, 3}));
  truth.shift(0, 3, -2);
  truth.shift(8, 12, -2);
  testing::expect_holds(cache, truth);
}

TEST(KvCache, HoldsPatchesOfAnImage) {
  for (const std::string_view layout : {"blocks", "alternating", "parts"}) {
    const std::string text = R"({"method":"axial_rotary","head_dim":32,"layout":"half_split",)"
                             R"("base":100,"axis_layout":")" +
                             std::string(layout) + R"("})";
    KvCache cache = cache_of(text, {2, 32, 16, KvType::float16, KvPaged{4}});
    const AxisIds ids = patch_ids({1, 3, 5}, PatchOrder::row_major, 1).value();
    CacheTruth truth(text, 1, 15, 2, 32, 16);
    ASSERT_TRUE(cache
                    .append(truth.key_rows(0, 15), truth.value_rows(0, 15),
                            PositionView::axes(ids.ids.data(), 2, 1, 15))
                    .ok());
    for (int64_t i = 0; i < 15; ++i) {
      truth.sources.push_back(i);
      truth.positions.push_back(ids.at(0, i));
      truth.positions.push_back(ids.at(1, i));
    }
    testing::expect_holds(cache, truth);
  }
}

TEST(KvCache, AppendsItsOwnPositionsAgain) {
  KvCache cache = cache_of(plain);
  CacheTruth truth(plain, 1, 9, 2, 32, 16);
  truth.append(cache, 3, 7);
  ASSERT_TRUE(
      cache.append(truth.key_rows(3, 3), truth.value_rows(3, 3), cache.position_view()).ok());
  EXPECT_EQ(positions_of(cache), (std::vector<int64_t>{7, 8, 9, 7, 8, 9}));
}

TEST(KvCache, CountsItsMemory) {
  KvCache cache = cache_of(plain, {2, 32, 16, KvType::int8, KvPaged{8}});
  CacheTruth truth(plain, 1, 9, 2, 32, 16);
  EXPECT_EQ(cache.memory().used, 0);
  truth.append(cache, 9, 0);
  EXPECT_EQ(cache.memory().used, 9 * 2 * (32 + 4 + 16 + 4));
  EXPECT_EQ(cache.memory().allocated, 2 * 8 * 2 * (32 + 4 + 16 + 4));
  EXPECT_GE(cache.memory().bookkeeping, 9 * (8 + 8 + 8 + 4));
}

TEST(KvCache, TakesAnyTypeAndStrides) {
  KvCache cache = cache_of(plain, {2, 32, 16, KvType::float32});
  const Heads k = Heads::bshd(DType::bfloat16, 1, 5, 2, 32, 3);
  // Heads before tokens, and lanes of others between them.
  Heads v({nullptr, DType::float16, 1, 5, 2, 16, 0, 20, 120}, 400, 4);
  Heads keys = k, out = Heads::bshd(DType::float32, 1, 5, 2, 16);
  ASSERT_TRUE(cache.append(keys.view(), v.view(), PositionView::range(0)).ok());
  ASSERT_TRUE(cache.read_values({0, 5}, out.view()).ok());
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t lane = 0; lane < 16; ++lane) {
        EXPECT_EQ(out.at(0, i, head, lane), v.at(0, i, head, lane));
      }
    }
  }
  EXPECT_EQ(keys, k);  // only read
}

TEST(KvCache, DoesNotDependOnTheExecutor) {
  const auto pool = make_executor(4);
  for (const KvType type : testing::kv_types) {
    KvCache one = cache_of(plain, {2, 32, 16, type, KvPaged{33}});
    KvCache other = cache_of(plain, {2, 32, 16, type, KvPaged{33}});
    CacheTruth truth(plain, 1, 900, 2, 32, 16);
    const HeadsView k = truth.key_rows(0, 900), v = truth.value_rows(0, 900);
    ASSERT_TRUE(one.append(k, v, PositionView::range(5)).ok());
    ASSERT_TRUE(other.append(k, v, PositionView::range(5), *pool).ok());
    ASSERT_TRUE(one.shift_keys(TokenRange{100, 900}, -50).ok());
    ASSERT_TRUE(other.shift_keys(TokenRange{100, 900}, -50).ok());
    one.settle();
    other.settle(*pool);
    Heads a = Heads::bshd(DType::float32, 1, 900, 2, 32), b = a;
    ASSERT_TRUE(one.read_keys({0, 900}, a.view()).ok());
    ASSERT_TRUE(other.read_keys({0, 900}, b.view()).ok());
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace hodometer
