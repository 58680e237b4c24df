#include "hodometer/ops/exact_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <string>
#include <string_view>

#include "hodometer/base/real.h"
#include "hodometer/ops/decay-inl.h"
#include "hodometer/ops/exact_table.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

constexpr std::string_view operation = "exact_attention";
/// For people to look at; whoever wants more wants attention().
constexpr int64_t most_weights = int64_t{1} << 22;
constexpr int64_t most_products = int64_t{1} << 28;
constexpr double infinite = std::numeric_limits<double>::infinity();

Error refusal(ErrorKind kind, std::string_view text) {
  return {kind, fmt::format("{}: {}", operation, text)};
}

Status refuse(std::string_view text) { return refusal(ErrorKind::usage, text); }

/// Where a value lies in a contiguous [length, heads, width] array: "q[3][0][7]".
std::string place(std::string_view name, int64_t index, int64_t heads, int64_t width) {
  return fmt::format("{}[{}][{}][{}]", name, index / (heads * width), index / width % heads,
                     index % width);
}

Status check_finite(std::string_view name, std::span<const double> values, int64_t heads,
                    int64_t width) {
  const auto wrong = std::find_if(values.begin(), values.end(),
                                  [](double value) { return !std::isfinite(value); });
  if (wrong == values.end()) return {};
  return refuse(fmt::format("{} is {}: expected a finite number",
                            place(name, wrong - values.begin(), heads, width), *wrong));
}

Status check_heads(std::string_view name, const ExactHeads& heads, int64_t length,
                   int64_t num_heads) {
  if (heads.length != length || heads.heads != num_heads) {
    return refuse(fmt::format("{} is [{}, {}, {}]: expected [{}, {}, {}]", name, heads.length,
                              heads.heads, heads.head_dim, length, num_heads, heads.head_dim));
  }
  if (heads.length < 0 || heads.heads < 1) {
    return refuse(fmt::format("{} has length {} and {} heads: expected 0 or more, and 1 or more",
                              name, heads.length, heads.heads));
  }
  if (heads.head_dim < 1 || heads.head_dim > max_head_dim) {
    return refuse(
        fmt::format("head_dim of {} is {}: expected 1 to {}", name, heads.head_dim, max_head_dim));
  }
  const auto size = static_cast<int64_t>(heads.values.size());
  const int64_t row = heads.heads > size ? size + 1 : heads.heads * heads.head_dim;
  if (heads.length > 0 && (size % row != 0 || size / row != heads.length)) {
    return refuse(fmt::format("{} has {} values: expected [{}, {}, {}]", name, size, heads.length,
                              heads.heads, heads.head_dim));
  }
  return check_finite(name, heads.values, heads.heads, heads.head_dim);
}

Status check_shapes(const Plan& plan, const ExactHeads& q, const ExactHeads& k,
                    const ExactHeads& v) {
  HODO_RETURN_IF_ERROR(check_heads("q", q, q.length, q.heads));
  HODO_RETURN_IF_ERROR(check_heads("k", k, k.length, k.heads));
  HODO_RETURN_IF_ERROR(check_heads("v", v, k.length, k.heads));
  if (q.head_dim != k.head_dim) {
    return refuse(fmt::format("head_dim of q is {} and of k {}: expected equal ones", q.head_dim,
                              k.head_dim));
  }
  if (q.heads % k.heads != 0) {
    return refuse(fmt::format("{} heads of q over {} of k: expected a multiple", q.heads, k.heads));
  }
  if (!plan.rotations.empty() && plan.head_dim() != q.head_dim) {
    return refuse(
        fmt::format("head_dim is {}: expected the plan's {}", q.head_dim, plan.head_dim()));
  }
  if (q.length == 0 || k.length == 0) return {};
  // Each factor is checked alone first, so that no product wraps.
  const int64_t lanes = q.head_dim + v.head_dim;
  const bool few = q.length <= most_weights && k.length <= most_weights / q.length &&
                   q.heads <= most_weights / (q.length * k.length);
  if (few && q.heads * q.length * k.length <= most_products / lanes) return {};
  return refuse(
      fmt::format("{} heads, {} queries, {} keys and {} lanes: expected at most {} "
                  "weights and {} products; attention() does more",
                  q.heads, q.length, k.length, lanes, most_weights, most_products));
}

Status check_rows(std::string_view name, const ExactRows& table, int64_t rows, int64_t width,
                  std::string_view shape) {
  if (table.rows != rows || table.width != width) {
    return refuse(fmt::format("{} is [{}, {}]: expected [{}, {}] ({})", name, table.rows,
                              table.width, rows, width, shape));
  }
  const auto size = static_cast<int64_t>(table.values.size());
  if (rows > 0 ? size % rows != 0 || size / rows != width : size != 0) {
    return refuse(
        fmt::format("{} has {} values: expected [{}, {}] ({})", name, size, rows, width, shape));
  }
  const auto wrong = std::find_if(table.values.begin(), table.values.end(),
                                  [](double value) { return !std::isfinite(value); });
  if (wrong == table.values.end()) return {};
  const int64_t index = wrong - table.values.begin();
  return refuse(fmt::format("{}[{}][{}] is {}: expected a finite number", name, index / width,
                            index % width, *wrong));
}

/// A table that the plan does not learn is expected to be empty.
Status check_learned(const Plan& plan, const ExactAttentionOptions& options, const ExactHeads& q,
                     const ExactHeads& v) {
  int64_t buckets = 0, key_rows = 0, value_rows = 0;
  if (plan.distance_bias) {
    const DistanceBias& bias = *plan.distance_bias;
    if (bias.num_heads != q.heads) {
      return refuse(fmt::format("q has {} heads: expected the plan's {}", q.heads, bias.num_heads));
    }
    if (bias.slopes.empty()) buckets = bias.num_buckets();
  }
  if (plan.query_table_bias) {
    key_rows = plan.query_table_bias->num_rows();
    if (plan.query_table_bias->adds_to_values) value_rows = key_rows;
  }
  const auto check = [](std::string_view name, const ExactRows& table, int64_t rows, int64_t width,
                        std::string_view shape) {
    return check_rows(name, table, rows, rows == 0 ? 0 : width, shape);
  };
  HODO_RETURN_IF_ERROR(
      check("buckets", options.buckets, buckets, q.heads, "num_buckets, num_heads"));
  HODO_RETURN_IF_ERROR(
      check("key_rows", options.key_rows, key_rows, q.head_dim, "num_rows, head_dim"));
  return check("value_rows", options.value_rows, value_rows, v.head_dim, "num_rows, value_dim");
}

Status check_segments(std::string_view name, const std::optional<std::span<const SegmentId>>& list,
                      int64_t length) {
  if (!list) return {};
  if (static_cast<int64_t>(list->size()) != length) {
    return refuse(fmt::format("{} are [{}]: expected [{}]", name, list->size(), length));
  }
  for (size_t i = 0; i < list->size(); ++i) {
    const auto segment = static_cast<int64_t>((*list)[i]);
    if (segment >= 0) continue;
    return refuse(fmt::format("{}[{}] is {}: expected 0 (padding) or above", name, i, segment));
  }
  return {};
}

Status check_numbers(const ExactAttentionOptions& options, double scale, int64_t heads) {
  if (!options.sinks.empty() && static_cast<int64_t>(options.sinks.size()) != heads) {
    return refuse(
        fmt::format("sinks has {} values: expected {} ([num_heads])", options.sinks.size(), heads));
  }
  for (size_t h = 0; h < options.sinks.size(); ++h) {
    if (std::isfinite(options.sinks[h])) continue;
    return refuse(fmt::format("sinks[{}] is {}: expected a finite number", h, options.sinks[h]));
  }
  if (!std::isfinite(scale)) {
    return refuse(fmt::format("scale is {}: expected a finite number", scale));
  }
  if (!std::isfinite(options.soft_cap) || options.soft_cap < 0) {
    return refuse(fmt::format("soft_cap is {}: expected 0 (none) or a finite number above it",
                              options.soft_cap));
  }
  return {};
}

bool is_whole(const PositionView& view) {
  return !std::holds_alternative<PositionView::Coordinates>(view.source());
}

Status check_method(const PositionSpec& spec, const std::vector<Action>& list) {
  const bool adds_rows = std::any_of(list.begin(), list.end(), [](const Action& action) {
    return std::holds_alternative<AddRow>(action);
  });
  if (!adds_rows) return {};
  return refusal(ErrorKind::unsupported,
                 fmt::format("the method {} adds rows to embeddings, before q, k and v are made: "
                             "expected them added, and the method nope",
                             method_name(spec)));
}

/// The sum of the terms, which depends on their values alone. Sorts them.
double ordered_sum(std::vector<double>& terms) {
  std::sort(terms.begin(), terms.end(),
            [](double a, double b) { return std::strong_order(a, b) < 0; });
  Real sum = 0;
  for (const double term : terms) sum = sum + term;
  return sum.to_double();
}

/// Heads after every rotation of the list. `sign` is that of the decay: 1 for queries, -1 for keys.
std::vector<double> turned(const std::vector<Action>& list, const ExactHeads& heads,
                           const PositionView& positions, double sign) {
  std::vector<double> lanes(heads.values.begin(), heads.values.end());
  for (const Action& action : list) {
    const auto* rotation = std::get_if<RotatePairs>(&action);
    if (rotation == nullptr) continue;
    const int64_t pairs = rotation->rotary_dim / 2;
    const bool halves = rotation->layout == PairLayout::half_split;
    for (int64_t i = 0; i < heads.length; ++i) {
      for (int64_t pair = 0; pair < pairs; ++pair) {
        const auto at = static_cast<size_t>(pair);
        const int64_t axis = rotation->axis.empty() ? 0 : rotation->axis[at];
        const double position = internal::position_at(positions, axis, 0, i);
        const CosSin turn = exact_cos_sin(rotation->inv_freq[at], position);
        const double magnitude =
            rotation->magnitude *
            (rotation->decay ? internal::decay_factor(*rotation->decay, at, position, sign) : 1);
        const int64_t first = rotation->rotary_start + (halves ? pair : 2 * pair);
        for (int64_t h = 0; h < heads.heads; ++h) {
          double* x = lanes.data() + (i * heads.heads + h) * heads.head_dim + first;
          double* y = x + (halves ? pairs : 1);
          const double before = *x;
          *x = magnitude * (before * turn.cos - *y * turn.sin);
          *y = magnitude * (*y * turn.cos + before * turn.sin);
        }
      }
    }
  }
  return lanes;
}

/// Everything of a call, checked and with the defaults filled in.
struct Call {
  std::vector<Action> list;
  ExactHeads q, k, v;
  const ExactAttentionOptions& options;
  PositionView query_positions, key_positions;
  PositionView query_order, key_order;
  double scale;

  int64_t query_position(int64_t i) const { return whole(query_positions, i); }
  int64_t distance(int64_t i, int64_t n) const {
    return whole(query_positions, i) - whole(key_positions, n);
  }
  bool sees(int64_t i, int64_t n) const {
    const PositionInterval seen = seen_positions(options.mask, whole(query_order, i));
    const int64_t key = whole(key_order, n);
    if (key < seen.first || key > seen.last) return false;
    if (!options.query_segments) return true;
    const SegmentId segment = (*options.query_segments)[static_cast<size_t>(i)];
    return segment != SegmentId::padding &&
           segment == (*options.key_segments)[static_cast<size_t>(n)];
  }

 private:
  static int64_t whole(const PositionView& view, int64_t i) {
    return static_cast<int64_t>(internal::position_at(view, 0, 0, i));
  }
};

double dot(const double* a, const double* b, int64_t lanes) {
  Real sum = 0;
  for (int64_t lane = 0; lane < lanes; ++lane) sum = sum + Real(a[lane]) * Real(b[lane]);
  return sum.to_double();
}

/// The rows of one query and head, filled in one after another.
class Rows {
 public:
  explicit Rows(const Call& call)
      : call_(call),
        queries_(turned(call.list, call.q, call.query_positions, 1)),
        keys_(call.options.keys == KeyState::turned
                  ? std::vector<double>(call.k.values.begin(), call.k.values.end())
                  : turned(call.list, call.k, call.key_positions, -1)) {}

  Status add(int64_t i, int64_t h, ExactAttention& result) {
    HODO_RETURN_IF_ERROR(add_scores(i, h));
    const double log_sum = this->log_sum(h);
    result.log_sums[static_cast<size_t>(i * call_.q.heads + h)] = log_sum;
    double* weights = result.weights.data() + (h * call_.q.length + i) * call_.k.length;
    for (size_t s = 0; s < seen_.size(); ++s) weights[seen_[s]] = terms_[s] / sum_;
    return add_values(i, h, weights,
                      result.out.data() + (i * call_.q.heads + h) * call_.v.head_dim);
  }

 private:
  int64_t key_head(int64_t h) const { return h / (call_.q.heads / call_.k.heads); }

  Status add_scores(int64_t i, int64_t h) {
    seen_.clear();
    scores_.clear();
    const double* query = queries_.data() + (i * call_.q.heads + h) * call_.q.head_dim;
    double scale = call_.scale;
    for (const Action& action : call_.list) {
      if (const auto* one = std::get_if<LogitScale>(&action)) {
        scale *= one->at(call_.query_position(i));
      }
    }
    for (int64_t n = 0; n < call_.k.length; ++n) {
      if (!call_.sees(i, n)) continue;
      const double* key = keys_.data() + (n * call_.k.heads + key_head(h)) * call_.k.head_dim;
      double score = dot(query, key, call_.q.head_dim);
      double bias = 0;
      for (const Action& action : call_.list) {
        if (const auto* table = std::get_if<QueryTableBias>(&action)) {
          const int64_t row = table->row(call_.distance(i, n));
          score += dot(query, call_.options.key_rows.values.data() + row * call_.q.head_dim,
                       call_.q.head_dim);
        }
        if (const auto* by_distance = std::get_if<DistanceBias>(&action)) {
          bias += distance_bias(*by_distance, call_.distance(i, n), h);
        }
      }
      score *= scale;
      const double cap = call_.options.soft_cap;
      if (cap > 0) score = cap * std::tanh(score / cap);
      score += bias;
      if (!std::isfinite(score)) {
        return refuse(
            fmt::format("the score of query {}, key {}, head {} is {}: expected smaller "
                        "numbers",
                        i, n, h, score));
      }
      seen_.push_back(n);
      scores_.push_back(score);
    }
    return {};
  }

  double distance_bias(const DistanceBias& bias, int64_t distance, int64_t h) const {
    if (bias.slopes.empty()) {
      return call_.options.buckets
          .values[static_cast<size_t>(bias.bucket(distance) * bias.num_heads + h)];
    }
    return -bias.slopes[static_cast<size_t>(h)] * std::abs(static_cast<double>(distance));
  }

  /// Fills the terms of the softmax and their sum, both relative to the largest score.
  double log_sum(int64_t h) {
    const bool has_sink = !call_.options.sinks.empty();
    if (has_sink) scores_.push_back(call_.options.sinks[static_cast<size_t>(h)]);
    if (scores_.empty()) return -infinite;
    const double most = *std::max_element(scores_.begin(), scores_.end());
    terms_.clear();
    for (const double score : scores_) terms_.push_back(std::exp(score - most));
    sorted_ = terms_;
    sum_ = ordered_sum(sorted_);
    return most + std::log(sum_);
  }

  Status add_values(int64_t i, int64_t h, const double* weights, double* out) {
    for (int64_t lane = 0; lane < call_.v.head_dim; ++lane) {
      sorted_.clear();
      for (const int64_t n : seen_) {
        double value = call_.v.values[static_cast<size_t>(
            (n * call_.v.heads + key_head(h)) * call_.v.head_dim + lane)];
        for (const Action& action : call_.list) {
          const auto* table = std::get_if<QueryTableBias>(&action);
          if (table == nullptr || !table->adds_to_values) continue;
          const int64_t row = table->row(call_.distance(i, n));
          value +=
              call_.options.value_rows.values[static_cast<size_t>(row * call_.v.head_dim + lane)];
        }
        sorted_.push_back(weights[n] * value);
      }
      out[lane] = ordered_sum(sorted_);
      if (std::isfinite(out[lane])) continue;
      return refuse(fmt::format("lane {} of query {}, head {} is {}: expected smaller numbers",
                                lane, i, h, out[lane]));
    }
    return {};
  }

  const Call& call_;
  std::vector<double> queries_, keys_;  ///< turned
  std::vector<int64_t> seen_;           ///< keys, ascending
  std::vector<double> scores_, terms_, sorted_;
  double sum_ = 0;
};

Result<Call> check_call(const PositionSpec& spec, int64_t context_length, const ExactHeads& q,
                        const ExactHeads& k, const ExactHeads& v,
                        const ExactAttentionOptions& options) {
  // The plan is for the checks that every operation makes; the numbers come from the actions.
  HODO_ASSIGN(const Plan plan, make_plan(spec, context_length));
  HODO_ASSIGN(std::vector<Action> list, actions(spec, context_length));
  HODO_RETURN_IF_ERROR(check_method(spec, list));
  HODO_RETURN_IF_ERROR(check_shapes(plan, q, k, v));
  HODO_RETURN_IF_ERROR(check_learned(plan, options, q, v));
  HODO_RETURN_IF_ERROR(check(options.mask, operation));
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.head_dim)));
  HODO_RETURN_IF_ERROR(check_numbers(options, scale, q.heads));

  const bool placed = !list.empty() || !std::holds_alternative<BidirectionalMask>(options.mask);
  if (q.length > k.length && !options.query_positions && placed) {
    return refuse(fmt::format("{} queries and {} keys: expected query_positions, because the "
                              "queries cannot be the last of the keys",
                              q.length, k.length))
        .error();
  }
  const PositionView last = PositionView::range(std::max<int64_t>(0, k.length - q.length));
  const PositionView all = PositionView::range(0);
  Call call{std::move(list),
            q,
            k,
            v,
            options,
            options.query_positions.value_or(last.same_on_axes(plan.num_axes())),
            options.key_positions.value_or(all.same_on_axes(plan.num_axes())),
            last,
            all,
            scale};
  HODO_RETURN_IF_ERROR(internal::check_positions(fmt::format("{}: query_positions", operation),
                                                 plan, call.query_positions, 1, q.length));
  HODO_RETURN_IF_ERROR(internal::check_positions(fmt::format("{}: key_positions", operation), plan,
                                                 call.key_positions, 1, k.length));
  const bool whole = is_whole(call.query_positions) && is_whole(call.key_positions);
  if (whole && plan.num_axes() == 1) {
    call.query_order = call.query_positions;
    call.key_order = call.key_positions;
  }
  if (!whole && (plan.distance_bias || plan.query_table_bias || !plan.logit_scales.empty())) {
    return refuse(fmt::format("the method {} goes by whole distances: expected positions that are "
                              "whole numbers",
                              method_name(spec)))
        .error();
  }
  if (options.query_segments.has_value() != options.key_segments.has_value()) {
    return refuse("segments of queries or of keys only: expected both").error();
  }
  HODO_RETURN_IF_ERROR(check_segments("query_segments", options.query_segments, q.length));
  HODO_RETURN_IF_ERROR(check_segments("key_segments", options.key_segments, k.length));
  return call;
}

}  // namespace

Result<ExactAttention> exact_attention(const PositionSpec& spec, int64_t context_length,
                                       const ExactHeads& q, const ExactHeads& k,
                                       const ExactHeads& v, const ExactAttentionOptions& options) {
  HODO_ASSIGN(const Call call, check_call(spec, context_length, q, k, v, options));
  ExactAttention result;
  result.out.resize(static_cast<size_t>(q.length * q.heads * v.head_dim));
  result.weights.resize(static_cast<size_t>(q.heads * q.length * k.length));
  result.log_sums.resize(static_cast<size_t>(q.length * q.heads));
  Rows rows(call);
  for (int64_t i = 0; i < q.length; ++i) {
    for (int64_t h = 0; h < q.heads; ++h) HODO_RETURN_IF_ERROR(rows.add(i, h, result));
  }
  return result;
}

}  // namespace hodometer
