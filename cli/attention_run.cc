#include "cli/attention_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace hodometer::cli {
namespace {

struct Method {
  std::string_view name;
  PositionSpec spec;
};

std::vector<Method> methods() {
  constexpr int64_t heads = AttentionRun::num_heads, dim = AttentionRun::head_dim;
  T5Bias t5;
  t5.num_heads = heads;
  t5.bidirectional = false;
  Alibi alibi;
  alibi.num_heads = heads;
  Shaw shaw;
  shaw.max_distance = 64;
  Shaw with_values = shaw;
  with_values.values = true;
  return {{"nope", {Nope()}},
          {"rotary", {Rotary{dim, {}, 0, PairLayout::half_split, 500000, DefaultSchedule{}}}},
          {"alibi", {alibi}},
          {"t5", {t5}},
          {"shaw", {shaw}},
          {"shaw_values", {with_values}}};
}

PositionSpec spec_of(std::string_view name) {
  for (Method& method : methods()) {
    if (method.name == name) return std::move(method.spec);
  }
  std::abort();
}

std::vector<float> learned(int64_t count) { return Heads(DType::float32, 1, 1, count, 7).values(); }

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// The column of one head.
std::vector<double> column(const std::vector<float>& table, int64_t head) {
  std::vector<double> result;
  for (size_t at = static_cast<size_t>(head); at < table.size(); at += AttentionRun::num_heads) {
    result.push_back(static_cast<double>(table[at]));
  }
  return result;
}

// The method as one head sees it: the slope or the column of that head.
PositionSpec spec_of_head(PositionSpec spec, int64_t head) {
  if (auto* alibi = std::get_if<Alibi>(&spec.method)) {
    const double slope =
        make_plan(spec, 1).value().distance_bias->slopes[static_cast<size_t>(head)];
    alibi->num_heads = {};
    alibi->slopes = std::vector<double>{slope};
  }
  if (auto* t5 = std::get_if<T5Bias>(&spec.method)) t5->num_heads = 1;
  return spec;
}

}  // namespace

std::vector<std::string> attention_run_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods()) names.emplace_back(method.name);
  return names;
}

AttentionRun::AttentionRun(std::string_view method, DType key_type, int64_t q_length,
                           int64_t k_length)
    : plan(make_plan(spec_of(method), k_length).value()),
      q(DType::float32, q_length, num_heads, head_dim, 1),
      k(key_type, k_length, num_kv_heads, head_dim, 2),
      v(key_type, k_length, num_kv_heads, head_dim, 3),
      out(DType::float32, q_length, num_heads, head_dim, 4),
      log_sums(static_cast<size_t>(q_length * num_heads)) {
  if (plan.distance_bias && plan.distance_bias->slopes.empty()) {
    buckets = learned(plan.distance_bias->num_buckets() * num_heads);
  }
  if (plan.query_table_bias) {
    key_rows = learned(plan.query_table_bias->num_rows() * head_dim);
    if (plan.query_table_bias->adds_to_values) value_rows = key_rows;
  }
}

void AttentionRun::run(Executor& executor) {
  AttentionOptions options;
  options.learned = {buckets, key_rows, value_rows};
  options.log_sums = log_sums.data();
  if (!attention(plan, q.view(), k.view(), v.view(), out.view(), options, executor).ok()) {
    std::abort();
  }
}

double AttentionRun::giga_operations() const {
  const auto queries = static_cast<double>(q.length()), keys = static_cast<double>(k.length());
  const double seen = queries * (keys - (queries - 1) / 2);
  return 1e-9 * seen * static_cast<double>(num_heads * 2 * 2 * head_dim);
}

Status AttentionRun::check() {
  run();
  return check_out(2e-6);
}

Status AttentionRun::check_out(double largest_error) const {
  for (const int64_t query : {int64_t{0}, q.length() / 2, q.length() - 1}) {
    for (const int64_t head : {int64_t{0}, num_heads - 1}) {
      HODO_RETURN_IF_ERROR(check_row(query, head, largest_error));
    }
  }
  return {};
}

Result<ExactAttention> AttentionRun::exact(int64_t query, int64_t head) const {
  const int64_t kv_head = head / (num_heads / num_kv_heads);
  const int64_t position = k.length() - q.length() + query;
  const std::vector<double> one_q = q.head(head, query, 1);
  const std::vector<double> one_k = k.head(kv_head, 0, position + 1);
  const std::vector<double> one_v = v.head(kv_head, 0, position + 1);
  const std::vector<double> bias = column(buckets, head);
  const std::vector<double> keys = doubles(key_rows), values = doubles(value_rows);
  ExactAttentionOptions options;
  options.buckets = {bias, static_cast<int64_t>(bias.size()), 1};
  options.key_rows = {keys, static_cast<int64_t>(keys.size()) / head_dim, head_dim};
  options.value_rows = {values, static_cast<int64_t>(values.size()) / head_dim, head_dim};
  if (bias.empty()) options.buckets = {};
  if (keys.empty()) options.key_rows = {};
  if (values.empty()) options.value_rows = {};
  return exact_attention(spec_of_head(plan.spec, head), plan.context_length,
                         {one_q, 1, 1, head_dim}, {one_k, position + 1, 1, head_dim},
                         {one_v, position + 1, 1, head_dim}, options);
}

Status AttentionRun::check_row(int64_t query, int64_t head, double largest_error) const {
  HODO_ASSIGN(const ExactAttention exact, this->exact(query, head));
  const std::vector<double> got = out.head(head, query, 1);
  for (size_t lane = 0; lane < got.size(); ++lane) {
    const double error = std::fabs(got[lane] - exact.out[lane]);
    if (error <= largest_error) continue;
    return Error{ErrorKind::bad_input,
                 fmt::format("query {}, head {}, lane {}: off by {:.3g}, expected at most {:g}",
                             query, head, lane, error, largest_error)};
  }
  return {};
}

std::string AttentionRun::name(std::string_view topic, std::string_view method) const {
  return fmt::format("{}/{}x{}x32_8x128/{}/{}", topic, q.length(), k.length(),
                     dtype_name(k.dtype()), method);
}

}  // namespace hodometer::cli
