#include "hodometer/ops/attention.h"

#include <gtest/gtest.h>

#include "hodometer/ops/attention_cases_test.h"

namespace hodometer {
namespace {

using testing::attention_methods;
using testing::AttentionCase;
using testing::AttentionMethod;
using testing::AttentionShape;
using testing::AttentionTensors;
using testing::case_of;
using testing::expect_right;
using testing::mask_cases;
using testing::MaskCase;
using testing::seen_by;

std::string size_text(const AttentionShape& s) {
  return std::to_string(s.q_length) + "x" + std::to_string(s.k_length) + " heads " +
         std::to_string(s.num_heads) + "/" + std::to_string(s.num_kv_heads) + " dims " +
         std::to_string(s.head_dim) + "/" + std::to_string(s.value_dim);
}

/// Every method of this shape, with keys from first_key on.
void expect_methods_right(const AttentionShape& s, const MaskCase& mask, int64_t first_key) {
  for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
    AttentionCase c = case_of(method, s, first_key);
    AttentionOptions options;
    options.mask = mask.mask;
    c.sees = seen_by(mask.mask, c);
    expect_right(s, c, options, method.name + " " + mask.name + " " + size_text(s));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Attention, EveryMethodUnderEveryMaskMatchesTheReference) {
  for (const auto& [q_length, k_length] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {1, 77}, {5, 5}, {67, 67}, {3, 300}, {130, 261}}) {
    for (const auto& [heads, kv_heads] :
         std::vector<std::pair<int64_t, int64_t>>{{3, 3}, {6, 2}, {5, 1}}) {
      for (const MaskCase& mask : mask_cases) {
        expect_methods_right({q_length, k_length, heads, kv_heads, 20, 12}, mask, 0);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Attention, EveryMethodOverEveryHeadDimMatchesTheReference) {
  for (const int64_t dim : {32, 34, 64, 80, 96, 128, 192, 256}) {
    expect_methods_right({40, 290, 4, 2, dim, dim}, mask_cases[0], 0);
    expect_methods_right({2, 290, 4, 2, dim, dim}, mask_cases[0], 0);
    if (HasFatalFailure()) return;
  }
}

TEST(Attention, EveryMethodFarFromZeroMatchesTheReference) {
  for (const int64_t first : {2047, 4095, 32767, 131071, 1048575}) {
    for (const MaskCase& mask : {mask_cases[0], mask_cases[2]}) {
      expect_methods_right({19, 61, 2, 1, 32, 16}, mask, first);
      expect_methods_right({1, 61, 2, 1, 32, 16}, mask, first);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Attention, ManyHeadsShareOneKeyHeadOverManyParts) {
  for (const int64_t queries : {1, 2, 3}) {
    expect_methods_right({queries, 5000, 40, 1, 16, 8}, mask_cases[0], 0);
    if (HasFatalFailure()) return;
  }
}

TEST(Attention, EveryTypeCostsItsRoundingOnly) {
  const std::vector<DType> types{DType::float32, DType::bfloat16, DType::float16};
  for (const DType query : types) {
    for (const DType key : types) {
      for (const DType out : types) {
        AttentionShape s{17, 33, 4, 2, 32, 24, query, key, out, 2};
        SCOPED_TRACE(std::string(dtype_name(query)) + " " + std::string(dtype_name(key)) + " " +
                     std::string(dtype_name(out)));
        expect_methods_right(s, mask_cases[0], 100);
        s.q_length = 1;
        expect_methods_right(s, mask_cases[0], 100);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Attention, CapsScoresAndCountsSinks) {
  for (const int64_t queries : {1, 50}) {
    const AttentionShape s{queries, 90, 4, 2, 32, 32};
    for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
      AttentionCase c = case_of(method, s, 0);
      c.sees = seen_by(CausalMask(), c);
      c.sinks = {0.5f, -1.0f, 3.0f, 0.0f};
      expect_right(s, c, {}, method.name + " with sinks");
      if (method.table_rows == 0) {
        c.soft_cap = 2;
        expect_right(s, c, {}, method.name + " with sinks and a soft cap");
      }
    }
  }
}

TEST(Attention, TakesKeysThatAreTurned) {
  for (const int64_t queries : {1, 40}) {
    const AttentionShape s{queries, 80, 4, 2, 32, 32};
    for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
      AttentionCase c = case_of(method, s, 5000);
      c.keys = KeyState::turned;
      c.sees = seen_by(CausalMask(), c);
      expect_right(s, c, {}, method.name);
    }
  }
}

TEST(Attention, QueriesStandAtTheEndOfTheKeysByDefault) {
  const AttentionShape s{3, 50, 4, 2, 32, 32};
  const AttentionCase c = case_of(attention_methods(32, 4)[1], s, 0);
  const Plan plan = make_plan(c.spec, 50).value();
  AttentionTensors by_default(s), said(s);
  ASSERT_TRUE(by_default.run(plan, {}).ok());
  AttentionOptions options;
  options.query_positions = PositionView::range(47);
  options.key_positions = PositionView::range(0);
  ASSERT_TRUE(said.run(plan, options).ok());
  EXPECT_EQ(by_default.out, said.out);
}

// Decoding token by token, with blocks of a few tokens, and all at once.
TEST(Attention, IncrementalEqualsFull) {
  const AttentionShape s{300, 300, 4, 2, 32, 32};
  for (const AttentionMethod& method : attention_methods(s.head_dim, s.num_heads)) {
    SCOPED_TRACE(method.name);
    const AttentionCase c = case_of(method, s, 0);
    const Plan plan = make_plan(c.spec, s.k_length).value();
    AttentionTensors full(s);
    AttentionOptions options;
    options.learned = {c.buckets, c.key_rows, c.value_rows};
    ASSERT_TRUE(full.run(plan, options).ok());
    for (const int64_t step : {1, 7, 64}) {
      AttentionTensors by_steps(s);
      const HeadsView q = by_steps.q.view(), k = by_steps.k.view(), v = by_steps.v.view(),
                      out = by_steps.out.view();
      const auto tokens = [](HeadsView view, int64_t first, int64_t end) {
        view.data = static_cast<float*>(view.data) + first * view.length_stride;
        view.length = end - first;
        return view;
      };
      for (int64_t first = 0; first < s.q_length; first += step) {
        const int64_t end = std::min(first + step, s.q_length);
        ASSERT_TRUE(attention(plan, tokens(q, first, end), tokens(k, 0, end), tokens(v, 0, end),
                              tokens(out, first, end), options)
                        .ok());
      }
      for (int64_t i = 0; i < full.out.elements(); ++i) {
        ASSERT_NEAR(by_steps.out.element(i), full.out.element(i), 6e-6) << step << ", " << i;
      }
    }
  }
}

TEST(Attention, LayoutsAreStridesAndNothingElse) {
  // Batch-head-sequence-dim against batch-sequence-head-dim, for many queries and for one.
  for (const int64_t queries : {1, 30}) {
    const AttentionShape s{queries,        70, 4, 2, 32, 16, DType::float32, DType::float32,
                           DType::float32, 2};
    const AttentionCase c = case_of(attention_methods(32, 4)[1], s, 0);
    const Plan plan = make_plan(c.spec, 70).value();
    AttentionTensors rows(s), heads(s);
    ASSERT_TRUE(rows.run(plan, {}).ok());
    const auto transposed = [](const testing::Heads& from) {
      const HeadsView& shape = from.shape();
      std::vector<float> to(static_cast<size_t>(from.elements()));
      const HeadsView view = HeadsView::bhsd(to.data(), DType::float32, shape.batch, shape.length,
                                             shape.heads, shape.head_dim);
      for (int64_t b = 0; b < shape.batch; ++b) {
        for (int64_t i = 0; i < shape.length; ++i) {
          for (int64_t h = 0; h < shape.heads; ++h) {
            for (int64_t lane = 0; lane < shape.head_dim; ++lane) {
              to[static_cast<size_t>(b * view.batch_stride + i * view.length_stride +
                                     h * view.head_stride + lane)] =
                  static_cast<float>(from.at(b, i, h, lane));
            }
          }
        }
      }
      return std::pair(std::move(to), view);
    };
    auto [q, q_view] = transposed(heads.q);
    auto [k, k_view] = transposed(heads.k);
    auto [v, v_view] = transposed(heads.v);
    auto [out, out_view] = transposed(heads.out);
    q_view.data = q.data(), k_view.data = k.data(), v_view.data = v.data();
    out_view.data = out.data();
    ASSERT_TRUE(attention(plan, q_view, k_view, v_view, out_view, {}).ok());
    const auto [want, unused] = transposed(rows.out);
    EXPECT_EQ(out, want);
  }
}

TEST(Attention, WithoutKeysThereAreZeros) {
  const Plan plan = testing::plan_of(R"({"method":"alibi","num_heads":2})");
  for (const int64_t queries : {0, 1, 40}) {
    AttentionTensors t({queries, 0, 2, 1, 8, 8});
    AttentionOptions options;
    options.query_positions = PositionView::range(0);
    ASSERT_TRUE(t.run(plan, options).ok());
    for (int64_t i = 0; i < t.out.elements(); ++i) EXPECT_EQ(t.out.element(i), 0);
    for (const float log_sum : t.log_sums) EXPECT_EQ(log_sum, -INFINITY);
  }
}

}  // namespace
}  // namespace hodometer
