#include <gtest/gtest.h>

#include "hodometer/ops/kv_cache_cases_test.h"
#include "hodometer/position/grid_ids.h"

namespace hodometer {
namespace {

using testing::AttentionMethod;
using testing::cache_methods;
using testing::CacheTruth;
using testing::Heads;
using testing::shared_plan;
using testing::words_of;

constexpr int64_t num_heads = 4, kv_heads = 2, head_dim = 32, value_dim = 24;

/// Whether there is such a cache at all.
bool is_served(const AttentionMethod& method, KvType type, KeyState keys) {
  return method.name != "xpos" || type != KvType::int8 || keys == KeyState::unturned;
}

KvCache cache_of(std::shared_ptr<const Plan> plan, KvType type, KvRoom room,
                 KeyState keys = KeyState::turned) {
  return KvCache::make({kv_heads, head_dim, value_dim, type, room, keys}, std::move(plan)).value();
}

/// Learned tables of a method.
struct Tables {
  explicit Tables(const AttentionMethod& method)
      : buckets(testing::random_floats(method.bucket_rows * num_heads, 5)),
        key_rows(testing::random_floats(method.table_rows * head_dim, 6)),
        value_rows(
            testing::random_floats(method.table_values ? method.table_rows * value_dim : 0, 7)) {}
  AttentionOptions options() const {
    AttentionOptions options;
    options.learned = {buckets, key_rows, value_rows};
    return options;
  }
  std::vector<float> buckets, key_rows, value_rows;
};

/// Queries of `count` tokens from row `first` on, and what comes out.
struct Queries {
  Queries(int64_t first, int64_t count)
      : q(Heads::bshd(DType::float32, 1, count, num_heads, head_dim,
                      static_cast<uint64_t>(100 + first))),
        out(Heads::bshd(DType::float32, 1, count, num_heads, value_dim)) {}
  Heads q, out;
};

double largest_difference(const Heads& a, const Heads& b) {
  double most = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    most = std::max(most, std::abs(a.element(i) - b.element(i)));
  }
  return most;
}

/// attention() without a cache over the tokens of the truth, turned by `plan` where they stand.
Heads without_cache(const Plan& plan, CacheTruth& truth, const Tables& tables, Queries& queries,
                    const PositionView* query_positions = nullptr) {
  const auto tokens = static_cast<int64_t>(truth.sources.size());
  Heads k = Heads::bshd(DType::float32, 1, tokens, kv_heads, head_dim);
  Heads v = Heads::bshd(DType::float32, 1, tokens, kv_heads, value_dim);
  for (int64_t i = 0; i < tokens; ++i) {
    const int64_t source = truth.sources[static_cast<size_t>(i)];
    std::copy_n(static_cast<const float*>(truth.key_rows(source, 1).data), kv_heads * head_dim,
                static_cast<float*>(k.view().data) + i * kv_heads * head_dim);
    std::copy_n(static_cast<const float*>(truth.value_rows(source, 1).data), kv_heads * value_dim,
                static_cast<float*>(v.view().data) + i * kv_heads * value_dim);
  }
  const int64_t axes = plan.num_axes();
  const int64_t count = queries.q.shape().length;
  AttentionOptions options = tables.options();
  const auto places = [&](int64_t first, int64_t length) {
    return PositionView::strided(
        PositionView::Ids{truth.positions.data() + first * axes, 1, length, 1, 0, axes}, axes);
  };
  options.key_positions = places(0, tokens);
  options.query_positions =
      query_positions != nullptr ? *query_positions : places(tokens - count, count);
  Heads out = queries.out;
  const Status done = attention(plan, queries.q.view(), k.view(), v.view(), out.view(), options);
  EXPECT_TRUE(done.ok()) << words_of(done);
  return out;
}

/// How far attention over the cache may be from that without one: what rounding keys and values may
/// do to scores of about 1 and to values below 2.
double bound_of(KvType type, const Plan& plan) {
  if (type == KvType::float32) return plan.rotations.empty() ? 0 : 3e-6;
  const double unit = type == KvType::int8 ? 1.0 / 127 : testing::unit_of(type);
  return 8 * unit;
}

/// Attention over the cache, which must be that without one, and exactly that over the keys and
/// values that the cache says it has.
void expect_attends(const Plan& plan, const KvCache& cache, CacheTruth& truth, const Tables& tables,
                    int64_t count) {
  Queries queries(truth.next, count);
  Heads out = queries.out;
  const Status done = attention(plan, queries.q.view(), cache, out.view(), tables.options());
  ASSERT_TRUE(done.ok()) << words_of(done);
  const Heads want = without_cache(plan, truth, tables, queries);
  ASSERT_LE(largest_difference(out, want), bound_of(cache.options().type, plan));

  Heads k = Heads::bshd(DType::float32, 1, cache.tokens(), kv_heads, head_dim);
  Heads v = Heads::bshd(DType::float32, 1, cache.tokens(), kv_heads, value_dim);
  ASSERT_TRUE(cache.read_keys({0, cache.tokens()}, k.view()).ok());
  ASSERT_TRUE(cache.read_values({0, cache.tokens()}, v.view()).ok());
  AttentionOptions options = tables.options();
  options.keys = KeyState::turned;
  options.key_positions = cache.position_view();
  const std::vector<int64_t> last(cache.positions().end() - count * cache.num_axes(),
                                  cache.positions().end());
  options.query_positions = PositionView::strided(
      PositionView::Ids{last.data(), 1, count, 1, 0, cache.num_axes()}, cache.num_axes());
  Heads same = queries.out;
  ASSERT_TRUE(attention(plan, queries.q.view(), k.view(), v.view(), same.view(), options).ok());
  EXPECT_EQ(out, same);
}

// Also across the switch of a schedule at 40 tokens.
TEST(KvCacheAttention, CachedEqualsUncachedByEveryMethodTypeAndRoom) {
  constexpr int64_t tokens = 72;
  for (const AttentionMethod& method : cache_methods(head_dim, num_heads)) {
    const Tables tables(method);
    const PositionSpec spec = testing::spec_of(method.text);
    for (const KvType type : testing::kv_types) {
      for (const KvRoom& room : testing::kv_rooms) {
        for (const KeyState keys : {KeyState::turned, KeyState::unturned}) {
          if (!is_served(method, type, keys)) continue;
          for (const int64_t step : {int64_t{1}, int64_t{7}, tokens}) {
            SCOPED_TRACE(method.name + " " + testing::kv_type_name(type) + " room " +
                         std::to_string(room.index()) + " step " + std::to_string(step));
            CacheTruth truth(method.text, 1, tokens, kv_heads, head_dim, value_dim);
            std::optional<KvCache> cache;
            for (int64_t first = 0; first < tokens; first += step) {
              const int64_t count = std::min(step, tokens - first);
              truth.context_length = first + count;
              const auto plan = shared_plan(spec, truth.context_length);
              if (!cache) {
                cache.emplace(cache_of(plan, type, room, keys));
              } else {
                ASSERT_TRUE(cache->reschedule_keys(plan).ok());
              }
              truth.append(*cache, count, first);
              const bool looked_at = step > 1 || first % 9 == 0 || (first > 36 && first < 45);
              if (looked_at) expect_attends(*plan, *cache, truth, tables, count);
              if (::testing::Test::HasFatalFailure()) return;
            }
            testing::expect_holds(*cache, truth);
          }
        }
      }
    }
  }
}

TEST(KvCacheAttention, FollowsKeysThatAreShiftedDroppedAndAppended) {
  for (const AttentionMethod& method : cache_methods(head_dim, num_heads)) {
    const PositionSpec spec = testing::spec_of(method.text);
    if (!can_shift(spec).ok()) continue;
    const Tables tables(method);
    const auto plan = shared_plan(spec, 3000000);
    for (const KvType type : testing::kv_types) {
      for (const KvRoom& room : testing::kv_rooms) {
        SCOPED_TRACE(method.name + " " + testing::kv_type_name(type));
        const KeyState keys =
            is_served(method, type, KeyState::turned) ? KeyState::turned : KeyState::unturned;
        for (const int64_t start : {0, 131072, 1048575}) {
          CacheTruth truth(method.text, 3000000, 90, kv_heads, head_dim, value_dim);
          KvCache cache = cache_of(plan, type, room, keys);
          truth.append(cache, 50, start);
          for (const int64_t distance : {1, -1, -37, 5000, -4963}) {
            ASSERT_TRUE(cache.shift_keys(TokenRange{10, 50}, distance).ok());
            truth.shift(10, 50, distance);
            for (const int64_t count : {1, 9}) {
              expect_attends(*plan, cache, truth, tables, count);
              if (HasFatalFailure()) return;
            }
          }
          ASSERT_TRUE(cache.drop({20, 31}).ok());
          truth.drop(20, 31);
          truth.append(cache, 12, cache.next_position());
          ASSERT_TRUE(cache.shift_keys(TokenRange{39, 45}, -7).ok());
          truth.shift(39, 45, -7);
          truth.append(cache, 3, cache.next_position() + 4);
          expect_attends(*plan, cache, truth, tables, 2);
          expect_attends(*plan, cache, truth, tables, 14);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Xiao et al. 2023: sinks and a window at positions 0, 1, ..., whatever the text's own.
TEST(KvCacheAttention, StreamsWithSinksAndAWindow) {
  const std::string text = testing::rotary_text(head_dim, R"("layout":"half_split")");
  const auto plan = shared_plan(text);
  const Tables tables({"rotary", text});
  constexpr int64_t sinks = 4, window = 20, tokens = 200;
  for (const KvType type : testing::kv_types) {
    for (const KvRoom& room : testing::kv_rooms) {
      CacheTruth truth(text, 1, tokens, kv_heads, head_dim, value_dim);
      KvCache cache = cache_of(plan, type, room);
      for (int64_t token = 0; token < tokens; ++token) {
        if (cache.tokens() == sinks + window) {
          ASSERT_TRUE(cache.keep_sinks_and_window(sinks, window - 1).ok());
          ASSERT_TRUE(cache.shift_keys(TokenRange{sinks, cache.tokens()}, -1).ok());
          truth.drop(sinks, sinks + 1);
          truth.shift(sinks, sinks + window - 1, -1);
        }
        truth.append(cache, 1, cache.next_position());
      }
      EXPECT_EQ(truth.positions, testing::run_of(0, sinks + window));
      EXPECT_EQ(truth.sources[sinks], tokens - window);
      testing::expect_holds(cache, truth);
      expect_attends(*plan, cache, truth, tables, 1);
      // Settled, it is one rounding further off and reads where it lies.
      cache.settle();
      EXPECT_EQ(cache.pending(), 0);
      EXPECT_LE(testing::error_of(cache, truth).keys, 2.01);
    }
  }
}

TEST(KvCacheAttention, ServesEveryMaskOverGaps) {
  for (const std::string& text : {testing::rotary_text(head_dim, R"("layout":"half_split")"),
                                  std::string(R"({"method":"alibi","num_heads":4})")}) {
    const auto plan = shared_plan(text);
    const Tables tables({"", text});
    CacheTruth truth(text, 1, 60, kv_heads, head_dim, value_dim);
    KvCache cache = cache_of(plan, KvType::float32, KvPaged{16});
    truth.append(cache, 60, 3);
    const TokenRange kept[] = {{0, 5}, {11, 12}, {20, 44}, {50, 60}};
    ASSERT_TRUE(cache.keep(kept).ok());
    truth.drop(44, 50);
    truth.drop(12, 20);
    truth.drop(5, 11);
    for (const testing::MaskCase& mask : testing::mask_cases) {
      for (const int64_t count : {1, 12}) {
        testing::AttentionCase c;
        c.spec = truth.spec;
        c.key_positions = truth.positions;
        c.query_positions.assign(truth.positions.end() - count, truth.positions.end());
        c.sees = testing::seen_by(mask.mask, c);
        c.scale = 1 / std::sqrt(32.0);
        Heads k = Heads::bshd(DType::float32, 1, cache.tokens(), kv_heads, head_dim);
        Heads v = Heads::bshd(DType::float32, 1, cache.tokens(), kv_heads, value_dim);
        for (int64_t i = 0; i < cache.tokens(); ++i) {
          const int64_t source = truth.sources[static_cast<size_t>(i)];
          std::copy_n(static_cast<const float*>(truth.key_rows(source, 1).data), 64,
                      static_cast<float*>(k.view().data) + i * 64);
          std::copy_n(static_cast<const float*>(truth.value_rows(source, 1).data), 48,
                      static_cast<float*>(v.view().data) + i * 48);
        }
        Queries queries(0, count);
        AttentionOptions options;
        options.mask = mask.mask;
        ASSERT_TRUE(attention(*plan, queries.q.view(), cache, queries.out.view(), options).ok());
        const testing::AttentionReference reference(c, queries.q, k, v);
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t head = 0; head < num_heads; ++head) {
            const testing::AttentionRow row = reference.row(0, i, head);
            for (int64_t lane = 0; lane < value_dim; ++lane) {
              ASSERT_NEAR(queries.out.at(0, i, head, lane), row.out[static_cast<size_t>(lane)],
                          6e-6)
                  << mask.name;
            }
          }
        }
      }
    }
  }
}

// Text, an image of 4 x 6 patches and text again: axes part and meet.
TEST(KvCacheAttention, TakesPositionsOnSeveralAxes) {
  const AttentionMethod method = cache_methods(head_dim, num_heads).back();
  const auto plan = shared_plan(method.text);
  const MropePart parts[] = {TextPart{9}, ImagePart{{1, 8, 12}}, TextPart{15}};
  const MropeIds made = mrope_ids(parts, MropeRule{2}).value();
  const int64_t tokens = made.positions.tokens;
  for (const KvType type : testing::kv_types) {
    for (const KvRoom& room : testing::kv_rooms) {
      CacheTruth truth(method.text, 1, tokens, kv_heads, head_dim, value_dim);
      KvCache cache = cache_of(plan, type, room);
      for (int64_t first = 0; first < tokens; first += 13) {
        const int64_t count = std::min<int64_t>(13, tokens - first);
        const PositionView::Ids ids{made.positions.ids.data() + first, 1, count, tokens, 0, 1};
        ASSERT_TRUE(cache
                        .append(truth.key_rows(first, count), truth.value_rows(first, count),
                                PositionView::strided(ids, 3))
                        .ok());
        for (int64_t i = first; i < first + count; ++i) {
          truth.sources.push_back(i);
          for (int64_t axis = 0; axis < 3; ++axis) {
            truth.positions.push_back(made.positions.at(axis, i));
          }
        }
        expect_attends(*plan, cache, truth, Tables(method), count);
      }
      EXPECT_EQ(cache.next_position(), made.next);
      testing::expect_holds(cache, truth);
      ASSERT_TRUE(cache.drop({12, 20}).ok());
      truth.sources.erase(truth.sources.begin() + 12, truth.sources.begin() + 20);
      truth.positions.erase(truth.positions.begin() + 36, truth.positions.begin() + 60);
      expect_attends(*plan, cache, truth, Tables(method), 5);
    }
  }
}

// Fault LONG-03's own input: 3900 tokens, then 500 one by one across the trained 4096.
TEST(KvCacheAttention, LongRopeSwitchesWithinAText) {
  const std::string text = testing::longrope_text(head_dim, 4096);
  const Tables tables({"", text});
  CacheTruth truth(text, 4096, 4400, kv_heads, head_dim, value_dim);
  KvCache cache = cache_of(shared_plan(text, 3900), KvType::bfloat16, KvGrowing{});
  truth.append(cache, 3900, 0);
  for (int64_t length = 3901; length <= 4400; ++length) {
    ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, length)).ok());
    truth.append(cache, 1, length - 1);
    truth.context_length = length;
    EXPECT_EQ(cache.pending(), length <= 4096 ? 0 : 4096);
    if (length > 4094 && length < 4099) {
      expect_attends(cache.plan(), cache, truth, tables, 1);
      testing::expect_holds(cache, truth);
    }
  }
  testing::expect_holds(cache, truth);
  cache.settle();
  EXPECT_TRUE(cache.stored_keys().ok());
  EXPECT_LE(testing::error_of(cache, truth).keys, 2.01);
}

// Fault LONG-03: keys by the short factors and queries by the long ones.
TEST(KvCacheAttention, NeverMixesSchedules) {
  const std::string text = testing::longrope_text(head_dim, 4096);
  const auto shorter = shared_plan(text, 4096), longer = shared_plan(text, 4097);
  CacheTruth truth(text, 4096, 120, kv_heads, head_dim, value_dim);
  KvCache cache = cache_of(shorter, KvType::bfloat16, KvGrowing{});
  truth.append(cache, 96, 4000);
  Queries one(0, 1);
  ASSERT_TRUE(attention(*shorter, one.q.view(), cache, one.out.view()).ok());
  EXPECT_EQ(words_of(attention(*longer, one.q.view(), cache, one.out.view())),
            "attention: keys of the cache are turned by rotary for context_length 4096 and the "
            "plan is rotary for context_length 4097, with other rotations: expected "
            "reschedule_keys() with the plan first");
  ASSERT_TRUE(cache.reschedule_keys(longer).ok());
  truth.context_length = 4097;
  testing::expect_holds(cache, truth);
  truth.append(cache, 1, 4096);
  testing::expect_holds(cache, truth);
  expect_attends(*longer, cache, truth, Tables({"", text}), 1);
  // And back, for the next, shorter text.
  ASSERT_TRUE(cache.truncate(90).ok());
  truth.drop(90, 97);
  ASSERT_TRUE(cache.reschedule_keys(shorter).ok());
  truth.context_length = 4096;
  testing::expect_holds(cache, truth);
  // Another length of a schedule that does not look at it is no other schedule.
  const std::string yarn = testing::cache_methods(head_dim, num_heads)[3].text;
  KvCache fixed = cache_of(shared_plan(yarn, 1), KvType::bfloat16, KvGrowing{});
  CacheTruth fixed_truth(yarn, 1, 3, kv_heads, head_dim, value_dim);
  fixed_truth.append(fixed, 3, 0);
  EXPECT_TRUE(attention(*shared_plan(yarn, 9999), one.q.view(), fixed, one.out.view()).ok());
}

TEST(KvCacheAttention, StoredViewsShowTheMemory) {
  const std::string text = testing::rotary_text(head_dim, R"("layout":"half_split")");
  CacheTruth truth(text, 1, 9, kv_heads, head_dim, value_dim);
  KvCache cache = cache_of(shared_plan(text), KvType::bfloat16, KvGrowing{2});
  truth.append(cache, 9, 70);
  const HeadsView keys = cache.stored_keys().value(), values = cache.stored_values().value();
  Heads direct = Heads::bshd(DType::float32, 1, 9, kv_heads, head_dim), read = direct;
  for (int64_t i = 0; i < 9; ++i) {
    for (int64_t head = 0; head < kv_heads; ++head) {
      to_float32(DType::bfloat16,
                 static_cast<const uint16_t*>(keys.data) + i * keys.length_stride +
                     head * keys.head_stride,
                 static_cast<float*>(direct.view().data) + (i * kv_heads + head) * head_dim,
                 head_dim);
    }
  }
  ASSERT_TRUE(cache.read_keys({0, 9}, read.view()).ok());
  EXPECT_EQ(direct, read);
  EXPECT_EQ(values.length, 9);
  EXPECT_EQ(values.head_dim, value_dim);
  EXPECT_EQ(values.dtype, DType::bfloat16);

  ASSERT_TRUE(cache.shift_keys(TokenRange{4, 9}, 1).ok());
  EXPECT_EQ(cache.stored_keys().error().message,
            "kv_cache: stored_keys: 5 keys wait to be turned: expected settle() first");
  EXPECT_TRUE(cache.stored_values().ok());
  cache.settle();
  EXPECT_TRUE(cache.stored_keys().ok());
  EXPECT_EQ(cache_of(shared_plan(text), KvType::int8, KvGrowing{2}).stored_keys().error().message,
            "kv_cache: stored_keys: rows are int8 with a scale each: expected a cache of float32, "
            "bfloat16 or float16");
  EXPECT_EQ(
      cache_of(shared_plan(text), KvType::float16, KvPaged{2}).stored_values().error().message,
      "kv_cache: stored_values: rows lie in pages: expected a cache in one block");
}

TEST(KvCacheAttention, RefusesWhatDoesNotBelongTogether) {
  const std::string text = testing::rotary_text(head_dim, R"("layout":"half_split")");
  const auto plan = shared_plan(text);
  CacheTruth truth(text, 1, 9, kv_heads, head_dim, value_dim);
  KvCache cache = cache_of(plan, KvType::bfloat16, KvPaged{2});
  truth.append(cache, 9, 0);
  Queries queries(0, 2);
  HeadsView two = queries.q.view();
  two.batch = 2;
  two.length = 1;
  EXPECT_EQ(words_of(attention(*plan, two, cache, queries.out.view())),
            "attention: q has batch 2: expected 1, the sequence of the cache");
  AttentionOptions options;
  options.key_positions = PositionView::range(0);
  EXPECT_EQ(words_of(attention(*plan, queries.q.view(), cache, queries.out.view(), options)),
            "attention: key_positions beside a cache, which has its own: expected none");
  Queries many(0, 10);
  EXPECT_EQ(words_of(attention(*plan, many.q.view(), cache, many.out.view())),
            "attention: 10 queries and 9 keys: expected query_positions, because the queries "
            "cannot be the last of the keys");
  EXPECT_EQ(words_of(cache.read_keys({0, 10}, truth.key_rows(0, 9))),
            "kv_cache: read_keys: tokens 0 to 10 (not included): expected within 0 to 9, the "
            "tokens of the cache");
  EXPECT_EQ(words_of(cache.read_values({0, 8}, truth.key_rows(0, 8))),
            "kv_cache: read_values: out is [1, 8, 2, 32]: expected [1, 8, 2, 24]");
}

TEST(KvCacheAttention, AnEmptyCacheGivesZeros) {
  const std::string text = testing::rotary_text(head_dim, R"("layout":"half_split")");
  for (const KvRoom& room : testing::kv_rooms) {
    const KvCache cache = cache_of(shared_plan(text), KvType::bfloat16, room);
    Queries queries(0, 3);
    AttentionOptions options;
    options.query_positions = PositionView::range(0);
    ASSERT_TRUE(attention(cache.plan(), queries.q.view(), cache, queries.out.view(), options).ok());
    for (int64_t i = 0; i < queries.out.elements(); ++i) EXPECT_EQ(queries.out.element(i), 0);
  }
}

TEST(KvCacheAttention, DoesNotDependOnTheExecutor) {
  const auto pool = make_executor(4);
  const std::string text = testing::longrope_text(head_dim, 2000);
  CacheTruth truth(text, 2000, 2000, kv_heads, head_dim, value_dim);
  KvCache cache = cache_of(shared_plan(text, 2000), KvType::int8, KvPaged{100});
  truth.append(cache, 2000, 0);
  ASSERT_TRUE(cache.reschedule_keys(shared_plan(text, 2001)).ok());
  for (const int64_t count : {1, 300}) {
    Queries one(0, count), other(0, count);
    ASSERT_TRUE(attention(cache.plan(), one.q.view(), cache, one.out.view()).ok());
    ASSERT_TRUE(attention(cache.plan(), other.q.view(), cache, other.out.view(), {}, *pool).ok());
    EXPECT_EQ(one.out, other.out);
  }
}

}  // namespace
}  // namespace hodometer
