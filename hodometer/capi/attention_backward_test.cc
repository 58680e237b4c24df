#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "hodometer/capi/hodometer_c.h"
#include "hodometer/ops/add_rows_backward.h"
#include "hodometer/ops/attention_backward.h"

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

TEST(CAttentionBackward, GivesTheBytesOfTheLibrary) {
  const char* spec = R"({"method":"t5_bias","num_heads":4,"bidirectional":true})";
  const Plan plan = plan_of(spec);
  const hodometer::Plan cc = hodometer::make_plan(hodometer::parse_spec(spec).value(), 64).value();
  std::vector<float> buckets(32 * num_heads, 0.1f), sinks(num_heads, 0.5f);
  Tensors t, wanted, want;
  Tensor seed(num_heads, 0.37f);
  std::vector<float> log_sums(length * num_heads);
  hodo_attention_options options = hodo_attention_defaults();
  options.buckets = buckets.data();
  options.buckets_size = buckets.size();
  options.sinks = sinks.data();
  options.sinks_size = sinks.size();
  options.log_sums = log_sums.data();
  ASSERT_EQ(hodo_attention(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &options, nullptr),
            HODO_OK)
      << hodo_last_error();
  std::vector<float> of_buckets(buckets.size()), of_sinks(sinks.size()), cc_buckets(of_buckets),
      cc_sinks(of_sinks);
  hodo_attention_gradients gradients{};
  gradients.q = &wanted.q.c;
  gradients.k = &wanted.k.c;
  gradients.v = &wanted.v.c;
  gradients.buckets = of_buckets.data();
  gradients.buckets_size = of_buckets.size();
  gradients.sinks = of_sinks.data();
  gradients.sinks_size = of_sinks.size();
  ASSERT_EQ(hodo_attention_backward(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &seed.c,
                                    log_sums.data(), &gradients, &options, nullptr),
            HODO_OK)
      << hodo_last_error();
  hodometer::AttentionOptions said;
  said.learned.buckets = buckets;
  said.sinks = sinks;
  hodometer::AttentionGradients of;
  of.q = want.q.cc;
  of.k = want.k.cc;
  of.v = want.v.cc;
  of.buckets = cc_buckets;
  of.sinks = cc_sinks;
  ASSERT_TRUE(hodometer::attention_backward(cc, t.q.cc, t.k.cc, t.v.cc, t.out.cc, seed.cc,
                                            log_sums.data(), of, said)
                  .ok());
  EXPECT_EQ(wanted.q.values, want.q.values);
  EXPECT_EQ(wanted.k.values, want.k.values);
  EXPECT_EQ(wanted.v.values, want.v.values);
  EXPECT_EQ(of_buckets, cc_buckets);
  EXPECT_EQ(of_sinks, cc_sinks);
}

TEST(CAttentionBackward, Refuses) {
  const Plan plan = plan_of(R"({"method":"nope"})");
  Tensors t;
  const std::vector<float> log_sums(length * num_heads);
  const hodo_attention_gradients none{};
  EXPECT_EQ(hodo_attention_backward(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &t.out.c, nullptr,
                                    &none, nullptr, nullptr),
            HODO_USAGE);
  EXPECT_NE(std::string(hodo_last_error()).find("log_sums"), std::string::npos);
  EXPECT_EQ(hodo_attention_backward(plan.get(), &t.q.c, &t.k.c, &t.v.c, &t.out.c, &t.out.c,
                                    log_sums.data(), nullptr, nullptr, nullptr),
            HODO_USAGE);
  EXPECT_NE(std::string(hodo_last_error()).find("gradients"), std::string::npos);
}

TEST(CRowsAddBackward, SumsByRow) {
  const Plan plan = plan_of(R"({"method":"learned","max_position_embeddings":4,"dim":2})");
  std::vector<float> x{1, 2, 10, 20, 100, 200}, table(8, -1);
  const hodo_embeddings gradient{x.data(), HODO_FLOAT32, 1, 3, 2, 6, 2};
  const std::vector<int64_t> ids{3, 0, 3};
  const hodo_positions positions = hodo_positions_ids(ids.data(), 1, 1, 3);
  const hodo_learned_table_gradient to{table.data(), 4, 2, 2};
  ASSERT_EQ(hodo_rows_add_backward(plan.get(), &gradient, &positions, &to, nullptr), HODO_OK)
      << hodo_last_error();
  EXPECT_EQ(table, (std::vector<float>{10, 20, 0, 0, 0, 0, 101, 202}));
  EXPECT_EQ(hodo_rows_add_backward(plan.get(), &gradient, &positions, nullptr, nullptr),
            HODO_USAGE);
}

}  // namespace
