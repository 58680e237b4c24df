#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hodometer/ops/attention_cases_test.h"

namespace hodometer {
namespace {

using testing::attention_methods;
using testing::AttentionCase;
using testing::AttentionMethod;
using testing::AttentionShape;
using testing::AttentionTensors;
using testing::case_of;

AttentionShape any_shape() {
  const int64_t kv_heads = *rc::gen::inRange<int64_t>(1, 4);
  const int64_t keys = *rc::gen::inRange<int64_t>(1, 400);
  return {*rc::gen::inRange<int64_t>(1, keys + 1),
          keys,
          kv_heads * *rc::gen::inRange<int64_t>(1, 5),
          kv_heads,
          4 * *rc::gen::inRange<int64_t>(1, 12),
          *rc::gen::inRange<int64_t>(1, 40),
          DType::float32,
          DType::float32,
          DType::float32,
          *rc::gen::inRange<int64_t>(1, 3)};
}

AttentionMethod any_method(const AttentionShape& s) {
  const auto methods = attention_methods(s.head_dim, s.num_heads);
  return methods[*rc::gen::inRange<size_t>(0, methods.size())];
}

AttentionOptions learned_of(const AttentionCase& c) {
  AttentionOptions options;
  options.learned = {c.buckets, c.key_rows, c.value_rows};
  return options;
}

RC_GTEST_PROP(AttentionProperties, AnyNumberOfThreadsGivesTheSameBits, ()) {
  const AttentionShape s = any_shape();
  const AttentionCase c = case_of(any_method(s), s, 0);
  const Plan plan = make_plan(c.spec, c.context_length).value();
  AttentionTensors serial(s), parallel(s);
  RC_ASSERT(serial.run(plan, learned_of(c)).ok());
  for (const int threads : {2, 3}) {
    RC_ASSERT(parallel.run(plan, learned_of(c), *make_executor(threads)).ok());
    RC_ASSERT(parallel.out == serial.out);
    RC_ASSERT(parallel.log_sums == serial.log_sums);
  }
}

RC_GTEST_PROP(AttentionProperties, ASequenceDoesNotDependOnItsBatch, ()) {
  AttentionShape s = any_shape();
  s.batch = 2;
  const AttentionCase c = case_of(any_method(s), s, 0);
  const Plan plan = make_plan(c.spec, c.context_length).value();
  AttentionTensors both(s), alone(s);
  RC_ASSERT(both.run(plan, learned_of(c)).ok());
  for (int64_t b = 0; b < 2; ++b) {
    const auto one = [&](HeadsView view) {
      view.data = static_cast<float*>(view.data) + b * view.batch_stride;
      view.batch = 1;
      return view;
    };
    RC_ASSERT(attention(plan, one(alone.q.view()), one(alone.k.view()), one(alone.v.view()),
                        one(alone.out.view()), learned_of(c))
                  .ok());
  }
  RC_ASSERT(both.out == alone.out);
}

RC_GTEST_PROP(AttentionProperties, ShiftingAllPositionsChangesNothing, ()) {
  const AttentionShape s = any_shape();
  const AttentionMethod method = any_method(s);
  RC_PRE(method.name != "temperature");  // goes by the position itself
  const int64_t shift = *rc::gen::inRange<int64_t>(1, 2000000);
  const AttentionCase c = case_of(method, s, 0);
  AttentionTensors here(s), there(s);
  AttentionOptions options = learned_of(c);
  RC_ASSERT(here.run(make_plan(c.spec, c.context_length).value(), options).ok());
  options.query_positions = PositionView::range(shift + s.k_length - s.q_length);
  options.key_positions = PositionView::range(shift);
  // xPos grows with the distance to its centre, and float32 ends before its score does.
  RC_PRE(method.name != "xpos" || shift < 100000);
  RC_ASSERT(there.run(make_plan(c.spec, c.context_length + shift).value(), options).ok());
  for (int64_t i = 0; i < here.out.elements(); ++i) {
    RC_ASSERT(std::abs(here.out.element(i) - there.out.element(i)) < 3e-5);
  }
}

// The output is a mean of values: of equal ones it is their value, whatever the scores.
RC_GTEST_PROP(AttentionProperties, WeightsAddUpToOne, ()) {
  const AttentionShape s = any_shape();
  const AttentionMethod method = any_method(s);
  RC_PRE(!method.table_values);
  const AttentionCase c = case_of(method, s, 0);
  AttentionTensors t(s);
  std::fill_n(static_cast<float*>(t.v.view().data), t.v.elements(), 0.75f);
  RC_ASSERT(t.run(make_plan(c.spec, c.context_length).value(), learned_of(c)).ok());
  for (int64_t i = 0; i < t.out.elements(); ++i) {
    RC_ASSERT(std::abs(t.out.element(i) - 0.75) < 1e-5);
  }
}

// Without a method and a mask, permuted queries give permuted outputs bit for bit, and permuted
// keys the same outputs but for the order of the sums.
RC_GTEST_PROP(AttentionProperties, WithoutAMethodOrderIsNotSeen, ()) {
  AttentionShape s = any_shape();
  s.batch = 1;
  s.q_length = s.k_length;
  const Plan plan = testing::plan_of(R"({"method":"nope"})");
  const auto step = *rc::gen::inRange<int64_t>(0, s.k_length);
  const auto rotated = [&](const testing::Heads& from) {
    testing::Heads to = from;
    const HeadsView view = to.view();
    for (int64_t i = 0; i < view.length; ++i) {
      for (int64_t e = 0; e < view.length_stride; ++e) {
        static_cast<float*>(view.data)[i * view.length_stride + e] =
            static_cast<float>(from.element((i + step) % view.length * view.length_stride + e));
      }
    }
    return to;
  };
  AttentionOptions options;
  options.mask = BidirectionalMask();
  AttentionTensors plain(s), queries(s), keys(s);
  RC_ASSERT(plain.run(plan, options).ok());
  queries.q = rotated(plain.q);
  RC_ASSERT(queries.run(plan, options).ok());
  RC_ASSERT(queries.out == rotated(plain.out));
  keys.k = rotated(plain.k);
  keys.v = rotated(plain.v);
  RC_ASSERT(keys.run(plan, options).ok());
  for (int64_t i = 0; i < plain.out.elements(); ++i) {
    RC_ASSERT(std::abs(keys.out.element(i) - plain.out.element(i)) < 5e-6);
  }
}

}  // namespace
}  // namespace hodometer
