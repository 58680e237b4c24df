#pragma once

// Private: gradients of attention by differences of the reference in double.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hodometer/ops/attention_backward.h"
#include "hodometer/ops/attention_cases_test.h"

namespace hodometer::testing {

/// float32 lanes of a tensor, contiguous.
inline std::vector<float> lanes_of(const Heads& heads) {
  std::vector<float> lanes;
  for (int64_t i = 0; i < heads.elements(); ++i) {
    lanes.push_back(static_cast<float>(heads.element(i)));
  }
  return lanes;
}

inline Heads float_heads(const HeadsView& shape, const std::vector<float>& lanes) {
  Heads heads = Heads::bshd(DType::float32, shape.batch, shape.length, shape.heads, shape.head_dim);
  std::copy(lanes.begin(), lanes.end(), static_cast<float*>(heads.view().data));
  return heads;
}

/// A case with its tensors, what attention() makes of it, and all gradients.
struct GradientCase {
  GradientCase(const AttentionShape& s, AttentionCase given, const AttentionOptions& options_given,
               DType gradient_type = DType::float32)
      : c(std::move(given)),
        t(s),
        out_gradient(Heads::bshd(s.out, s.batch, s.q_length, s.num_heads, s.value_dim, 11)),
        dq(Heads::bshd(gradient_type, s.batch, s.q_length, s.num_heads, s.head_dim, 12)),
        dk(Heads::bshd(gradient_type, s.batch, s.k_length, s.num_kv_heads, s.head_dim, 13)),
        dv(Heads::bshd(gradient_type, s.batch, s.k_length, s.num_kv_heads, s.value_dim, 14)),
        buckets(c.buckets.size(), NAN),
        key_rows(c.key_rows.size(), NAN),
        value_rows(c.value_rows.size(), NAN),
        sinks(c.sinks.size(), NAN),
        options(options_of(c, options_given)),
        plan(make_plan(c.spec, c.context_length).value()) {}

  AttentionGradients gradients() {
    return {dq.view(), dk.view(), dv.view(), buckets, key_rows, value_rows, sinks};
  }
  Status forward() { return t.run(plan, options); }
  Status backward(const AttentionGradients& to, Executor& executor = serial_executor()) {
    return attention_backward(plan, t.q.view(), t.k.view(), t.v.view(), t.out.view(),
                              out_gradient.view(), t.log_sums.data(), to, options, executor);
  }

  AttentionCase c;
  AttentionTensors t;
  Heads out_gradient;
  Heads dq, dk, dv;
  std::vector<float> buckets, key_rows, value_rows, sinks;
  AttentionOptions options;
  Plan plan;
};

/// What attention depends on, as numbers that can be moved.
struct Inputs {
  explicit Inputs(const GradientCase& g)
      : q(lanes_of(g.t.q)),
        k(lanes_of(g.t.k)),
        v(lanes_of(g.t.v)),
        buckets(g.c.buckets),
        key_rows(g.c.key_rows),
        value_rows(g.c.value_rows),
        sinks(g.c.sinks) {}
  /// sum(out_gradient * out) by the reference.
  double loss(const GradientCase& g) const {
    AttentionCase c = g.c;
    c.buckets = buckets;
    c.key_rows = key_rows;
    c.value_rows = value_rows;
    c.sinks = sinks;
    const Heads query = float_heads(g.t.q.shape(), q), key = float_heads(g.t.k.shape(), k),
                value = float_heads(g.t.v.shape(), v);
    const AttentionReference reference(c, query, key, value);
    const HeadsView& shape = g.t.out.shape();
    double sum = 0;
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t i = 0; i < shape.length; ++i) {
        for (int64_t h = 0; h < shape.heads; ++h) {
          const AttentionRow row = reference.row(b, i, h);
          for (int64_t lane = 0; lane < shape.head_dim; ++lane) {
            sum += g.out_gradient.at(b, i, h, lane) * row.out[static_cast<size_t>(lane)];
          }
        }
      }
    }
    return sum;
  }
  std::vector<float> q, k, v, buckets, key_rows, value_rows, sinks;
};

/// Compares a gradient with the loss's difference along random directions: of all numbers, and of
/// one number each.
inline void expect_difference(const GradientCase& g, std::vector<float> Inputs::*input,
                              const std::vector<float>& gradient, double bound,
                              const std::string& name) {
  SCOPED_TRACE(name);
  Inputs inputs(g);
  const std::vector<float> at = inputs.*input;
  ASSERT_EQ(at.size(), gradient.size());
  if (at.empty()) return;
  double largest = 0.05;
  for (const float value : gradient) {
    ASSERT_TRUE(std::isfinite(value));
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  for (size_t trial = 0; trial < 4; ++trial) {
    const bool dense = trial == 0;
    const std::vector<float> direction = random_floats(static_cast<int64_t>(at.size()), trial + 21);
    const size_t one = (trial * 7919 + 13) % at.size();
    const auto moved = [&](float step) {
      std::vector<float> to = at;
      for (size_t i = 0; i < at.size(); ++i) {
        if (dense || i == one) to[i] += step * (dense ? direction[i] : 1.0f);
      }
      return to;
    };
    const float step = dense ? 0x1p-8f / std::sqrt(static_cast<float>(at.size())) : 0x1p-8f;
    const std::vector<float> above = moved(step), below = moved(-step);
    inputs.*input = above;
    const double high = inputs.loss(g);
    inputs.*input = below;
    const double low = inputs.loss(g);
    double along = 0, length = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      const double moved_by = static_cast<double>(above[i]) - static_cast<double>(below[i]);
      along += static_cast<double>(gradient[i]) * moved_by;
      length += moved_by * moved_by;
    }
    length = std::sqrt(length);
    ASSERT_NEAR(along / length, (high - low) / length, bound * largest)
        << (dense ? "all" : "number " + std::to_string(one));
  }
}

/// Runs both passes and compares every gradient.
inline void expect_gradients(const AttentionShape& s, AttentionCase c,
                             const AttentionOptions& options, const std::string& what,
                             DType gradient_type = DType::float32) {
  SCOPED_TRACE(what);
  c.scale = 0.7 / std::sqrt(static_cast<double>(s.head_dim));
  GradientCase g(s, std::move(c), options, gradient_type);
  ASSERT_TRUE(g.forward().ok());
  const Status done = g.backward(g.gradients());
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto error_of = [](DType type) {
    return type == DType::float32 ? 0.0 : type == DType::bfloat16 ? 0x1p-7 : 0x1p-10;
  };
  // Differences are good to about 1e-5; deltas come from outputs that were rounded.
  const double bound = 1e-4 + error_of(gradient_type) + 2 * error_of(s.out);
  expect_difference(g, &Inputs::q, lanes_of(g.dq), bound, "q");
  expect_difference(g, &Inputs::k, lanes_of(g.dk), bound, "k");
  expect_difference(g, &Inputs::v, lanes_of(g.dv), bound, "v");
  expect_difference(g, &Inputs::buckets, g.buckets, bound, "buckets");
  expect_difference(g, &Inputs::key_rows, g.key_rows, bound, "key_rows");
  expect_difference(g, &Inputs::value_rows, g.value_rows, bound, "value_rows");
  expect_difference(g, &Inputs::sinks, g.sinks, bound, "sinks");
}

}  // namespace hodometer::testing
