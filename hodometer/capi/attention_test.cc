#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "hodometer/capi/hodometer_c.h"
#include "hodometer/ops/attention.h"

namespace {

struct Free {
  void operator()(hodo_plan* plan) const { hodo_plan_free(plan); }
};
using Plan = std::unique_ptr<hodo_plan, Free>;

Plan plan_of(const char* spec) {
  hodo_plan* plan = nullptr;
  EXPECT_EQ(hodo_plan_create(spec, 64, HODO_ANGLES_EXACT, &plan), HODO_OK) << hodo_last_error();
  return Plan(plan);
}

constexpr int64_t length = 20, num_heads = 4, num_kv_heads = 2, dim = 8;

struct Tensor {
  Tensor(int64_t heads, float step) : values(static_cast<size_t>(length * heads * dim)) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(step * static_cast<float>(i + 1));
    }
    c = {values.data(), HODO_FLOAT32,         1,           length, heads,
         dim,           length * heads * dim, heads * dim, dim};
    cc =
        hodometer::HeadsView::bshd(values.data(), hodometer::DType::float32, 1, length, heads, dim);
  }
  std::vector<float> values;
  hodo_heads c;
  hodometer::HeadsView cc;
};

struct Tensors {
  Tensor q{num_heads, 0.7f}, k{num_kv_heads, 1.3f}, v{num_kv_heads, 0.9f}, out{num_heads, 0};
};

TEST(CAttention, GivesTheBytesOfTheLibrary) {
  const char* spec = R"({"method":"rotary","head_dim":8,"layout":"half_split","base":10000})";
  const Plan plan = plan_of(spec);
  const hodometer::Plan cc = hodometer::make_plan(hodometer::parse_spec(spec).value(), 64).value();
  const std::vector<int64_t> segments(length, 1);
  const std::vector<hodometer::SegmentId> cc_segments(length, hodometer::SegmentId(1));
  const hodo_segments rows{segments.data(), 1, length, length, 1};
  const std::vector<float> sinks{0.1f, 0.2f, 0.3f, 0.4f};
  const hodo_positions positions = hodo_positions_range(1000, 1);
  const double scale = 0.25;
  const std::array<std::pair<hodo_mask, hodometer::Mask>, 5> masks{
      {{{HODO_MASK_CAUSAL, 0, 0, 0}, hodometer::CausalMask()},
       {{HODO_MASK_BIDIRECTIONAL, 0, 0, 0}, hodometer::BidirectionalMask()},
       {{HODO_MASK_WINDOW, 3, 1, 0}, hodometer::WindowMask{3, 1}},
       {{HODO_MASK_CHUNKED, 0, 0, 7}, hodometer::ChunkedMask{7}},
       {{HODO_MASK_PREFIX, 0, 0, 1005}, hodometer::PrefixMask{1005}}}};
  for (const auto& [mask, cc_mask] : masks) {
    Tensors t, want;
    std::vector<float> log_sums(length * num_heads), cc_log_sums(log_sums);
    hodo_attention_options options = hodo_attention_defaults();
    options.query_positions = options.key_positions = &positions;
    options.mask = mask;
    options.query_segments = options.key_segments = &rows;
    options.scale = &scale;
    options.soft_cap = 3;
    options.sinks = sinks.data();
    options.sinks_size = sinks.size();
    options.log_sums = log_sums.data();
    ASSERT_EQ(hodo_attention(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &options, nullptr),
              HODO_OK)
        << hodo_last_error();
    hodometer::AttentionOptions said;
    said.query_positions = said.key_positions = hodometer::PositionView::range(1000);
    said.mask = cc_mask;
    said.query_segments = said.key_segments =
        hodometer::SegmentView::contiguous(cc_segments.data(), 1, length);
    said.scale = scale;
    said.soft_cap = 3;
    said.sinks = sinks;
    said.log_sums = cc_log_sums.data();
    ASSERT_TRUE(hodometer::attention(cc, want.q.cc, want.k.cc, want.v.cc, want.out.cc, said).ok());
    EXPECT_EQ(t.out.values, want.out.values);
    EXPECT_EQ(log_sums, cc_log_sums);
  }
}

TEST(CAttention, TakesLearnedTables) {
  const Plan plan = plan_of(R"({"method":"shaw","max_distance":1,"values":true})");
  Tensors t;
  const std::vector<float> rows(3 * dim, 0.5f);
  hodo_attention_options options = hodo_attention_defaults();
  options.key_rows = options.value_rows = rows.data();
  options.key_rows_size = options.value_rows_size = rows.size();
  ASSERT_EQ(hodo_attention(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &options, nullptr),
            HODO_OK)
      << hodo_last_error();
  // The first query sees the first value and the row of distance 0.
  for (size_t lane = 0; lane < dim; ++lane) {
    EXPECT_NEAR(t.out.values[lane], t.v.values[lane] + 0.5f, 1e-6);
  }
}

TEST(CAttention, NullOptionsAreTheDefaults) {
  const Plan plan = plan_of(R"({"method":"nope"})");
  Tensors by_null, by_defaults;
  const hodo_attention_options options = hodo_attention_defaults();
  ASSERT_EQ(hodo_attention(plan.get(), &by_null.q.c, &by_null.k.c, &by_null.v.c, &by_null.out.c,
                           nullptr, nullptr),
            HODO_OK);
  ASSERT_EQ(hodo_attention(plan.get(), &by_defaults.q.c, &by_defaults.k.c, &by_defaults.v.c,
                           &by_defaults.out.c, &options, nullptr),
            HODO_OK);
  EXPECT_EQ(by_null.out.values, by_defaults.out.values);
}

TEST(CAttention, Refuses) {
  const Plan plan = plan_of(R"({"method":"nope"})");
  Tensors t;
  EXPECT_EQ(hodo_attention(plan.get(), &t.q.c, nullptr, &t.v.c, &t.out.c, nullptr, nullptr),
            HODO_USAGE);
  EXPECT_NE(std::string(hodo_last_error()).find("k"), std::string::npos);
  hodo_attention_options options = hodo_attention_defaults();
  options.mask.kind = static_cast<hodo_mask_kind>(9);
  EXPECT_EQ(hodo_attention(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &options, nullptr),
            HODO_USAGE);
  EXPECT_STREQ(hodo_last_error(), "hodo_attention: mask.kind is 9: expected 0 to 4");
  options = hodo_attention_defaults();
  options.sinks_size = 4;
  EXPECT_EQ(hodo_attention(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &options, nullptr),
            HODO_USAGE);
  options = hodo_attention_defaults();
  options.keys = static_cast<hodo_key_state>(-1);
  EXPECT_EQ(hodo_attention(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &options, nullptr),
            HODO_USAGE);
}

}  // namespace
