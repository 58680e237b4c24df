// Gradients beside those of PyTorch's autograd: see tests/golden/make_attention_gradients.py.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hodometer/ops/attention_backward.h"

namespace hodometer {
namespace {

using Json = nlohmann::ordered_json;

std::vector<float> floats(const Json& golden, const char* name) {
  return golden.contains(name) ? golden.at(name).get<std::vector<float>>() : std::vector<float>();
}

/// One case: inputs, and gradients of NaNs until they are written.
struct Golden {
  explicit Golden(const Json& from)
      : golden(from),
        length(from.at("length")),
        heads(from.at("heads")),
        kv_heads(from.at("kv_heads")),
        head_dim(from.at("head_dim")),
        value_dim(from.at("value_dim")),
        plan(make_plan(parse_spec(from.at("spec").dump()).value(), length).value()),
        q(floats(from, "q")),
        k(floats(from, "k")),
        v(floats(from, "v")),
        out_gradient(floats(from, "out_gradient")),
        buckets(floats(from, "buckets")),
        key_rows(floats(from, "key_rows")),
        value_rows(floats(from, "value_rows")),
        sinks(floats(from, "sinks")),
        out(out_gradient.size()),
        log_sums(static_cast<size_t>(length * heads)) {
    options.scale = from.at("scale").get<double>();
    options.soft_cap = from.at("soft_cap");
    options.learned = {buckets, key_rows, value_rows};
    options.sinks = sinks;
    options.log_sums = log_sums.data();
    if (from.at("mask") == "bidirectional") options.mask = BidirectionalMask();
    if (from.at("mask") == "window") options.mask = sliding_window(from.at("window"));
  }

  HeadsView view(std::vector<float>& lanes, int64_t num_heads, int64_t dim) const {
    return HeadsView::bshd(lanes.data(), DType::float32, 1, length, num_heads, dim);
  }

  void expect(const char* name, const std::vector<float>& gradient) const {
    SCOPED_TRACE(name);
    if (gradient.empty()) return;
    const auto want = golden.at("gradients").at(name).get<std::vector<double>>();
    ASSERT_EQ(want.size(), gradient.size());
    double largest = 1;
    for (const double value : want) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(gradient[i]), want[i], 3e-6 * largest) << i;
    }
  }

  void run() {
    const HeadsView qs = view(q, heads, head_dim), ks = view(k, kv_heads, head_dim),
                    vs = view(v, kv_heads, value_dim), outs = view(out, heads, value_dim);
    ASSERT_TRUE(attention(plan, qs, ks, vs, outs, options).ok());
    std::vector<float> dq(q.size()), dk(k.size()), dv(v.size()), by_bucket(buckets.size()),
        by_key_row(key_rows.size()), by_value_row(value_rows.size()), by_sink(sinks.size());
    const Status done = attention_backward(
        plan, qs, ks, vs, outs, view(out_gradient, heads, value_dim), log_sums.data(),
        {view(dq, heads, head_dim), view(dk, kv_heads, head_dim), view(dv, kv_heads, value_dim),
         by_bucket, by_key_row, by_value_row, by_sink},
        options);
    ASSERT_TRUE(done.ok()) << done.error().message;
    expect("q", dq);
    expect("k", dk);
    expect("v", dv);
    expect("buckets", by_bucket);
    expect("key_rows", by_key_row);
    expect("value_rows", by_value_row);
    expect("sinks", by_sink);
  }

  const Json& golden;
  int64_t length, heads, kv_heads, head_dim, value_dim;
  Plan plan;
  std::vector<float> q, k, v, out_gradient, buckets, key_rows, value_rows, sinks, out, log_sums;
  AttentionOptions options;
};

TEST(AttentionBackwardGolden, GradientsArePyTorchs) {
  std::ifstream file(HODO_GOLDEN_DIR "/attention_gradients.json");
  const Json golden = Json::parse(file);
  ASSERT_EQ(golden.at("cases").size(), 13u);
  for (const Json& one : golden.at("cases")) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    Golden(one).run();
  }
}

}  // namespace
}  // namespace hodometer
