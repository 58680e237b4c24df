#include <fmt/format.h>

#include <cmath>

#include "hodometer/ops/attention_checks-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer::internal {
namespace {

constexpr std::string_view operation = "attention";
constexpr int64_t most_lanes = 512;
/// Numbers of a learned bias laid out over distances.
constexpr int64_t most_learned = int64_t{1} << 26;

Status refuse(std::string text) {
  return Error{ErrorKind::usage, fmt::format("{}: {}", operation, text)};
}

Status check_heads(std::string_view name, const HeadsView& heads, int64_t batch, int64_t length,
                   int64_t num_heads) {
  HODO_RETURN_IF_ERROR(check_extents(fmt::format("{}: {}", operation, name), heads.data,
                                     dtype_size(heads.dtype),
                                     {{"batch", heads.batch, heads.batch_stride},
                                      {"length", heads.length, heads.length_stride},
                                      {"heads", heads.heads, heads.head_stride},
                                      {"head_dim", heads.head_dim, 1}}));
  if (heads.batch != batch || heads.length != length || heads.heads != num_heads) {
    return refuse(fmt::format("{} is [{}, {}, {}, {}]: expected [{}, {}, {}, {}]", name,
                              heads.batch, heads.length, heads.heads, heads.head_dim, batch, length,
                              num_heads, heads.head_dim));
  }
  if (heads.head_dim < 1 || heads.head_dim > most_lanes) {
    return refuse(
        fmt::format("head_dim of {} is {}: expected 1 to {}", name, heads.head_dim, most_lanes));
  }
  return {};
}

Status check_shapes(const Plan& plan, const HeadsView& q, const HeadsView& k, const HeadsView& v,
                    const HeadsView& out) {
  HODO_RETURN_IF_ERROR(check_heads("q", q, q.batch, q.length, q.heads));
  HODO_RETURN_IF_ERROR(check_heads("k", k, q.batch, k.length, k.heads));
  HODO_RETURN_IF_ERROR(check_heads("v", v, q.batch, k.length, k.heads));
  HODO_RETURN_IF_ERROR(check_heads("out", out, q.batch, q.length, q.heads));
  if (q.head_dim != k.head_dim) {
    return refuse(fmt::format("head_dim of q is {} and of k {}: expected equal ones", q.head_dim,
                              k.head_dim));
  }
  if (v.head_dim != out.head_dim) {
    return refuse(fmt::format("head_dim of v is {} and of out {}: expected equal ones", v.head_dim,
                              out.head_dim));
  }
  if (k.heads == 0 ? q.heads != 0 : q.heads % k.heads != 0) {
    return refuse(fmt::format("{} heads of q over {} of k: expected a multiple", q.heads, k.heads));
  }
  if (!plan.rotations.empty() && plan.head_dim() != q.head_dim) {
    return refuse(
        fmt::format("head_dim is {}: expected the plan's {}", q.head_dim, plan.head_dim()));
  }
  return {};
}

Status check_size(std::string_view name, size_t size, int64_t wanted, std::string_view shape) {
  if (static_cast<int64_t>(size) == wanted) return {};
  return refuse(fmt::format("{} has {} values: expected {} ({})", name, size, wanted, shape));
}

Status check_learned(const Plan& plan, const LearnedBias& learned, int64_t heads, int64_t head_dim,
                     int64_t value_dim) {
  int64_t buckets = 0, key_values = 0, value_values = 0;
  if (plan.distance_bias) {
    const DistanceBias& bias = *plan.distance_bias;
    if (bias.num_heads != heads) {
      return refuse(fmt::format("q has {} heads: expected the plan's {}", heads, bias.num_heads));
    }
    if (bias.slopes.empty()) {
      buckets = bias.num_buckets() * heads;
      if (bias.bucket_starts.back() > most_learned / (2 * heads) - 1) {
        return Error{ErrorKind::limit,
                     fmt::format("{}: buckets reach to distance {} with {} heads: expected at most "
                                 "{} numbers",
                                 operation, bias.bucket_starts.back(), heads, most_learned)};
      }
    }
  }
  if (plan.query_table_bias) {
    key_values = plan.query_table_bias->num_rows() * head_dim;
    if (plan.query_table_bias->adds_to_values) {
      value_values = plan.query_table_bias->num_rows() * value_dim;
    }
  }
  HODO_RETURN_IF_ERROR(
      check_size("learned.buckets", learned.buckets.size(), buckets, "[num_buckets, num_heads]"));
  HODO_RETURN_IF_ERROR(
      check_size("learned.key_rows", learned.key_rows.size(), key_values, "[num_rows, head_dim]"));
  return check_size("learned.value_rows", learned.value_rows.size(), value_values,
                    "[num_rows, value_dim]");
}

Status check_segments(std::string_view name, const std::optional<SegmentView>& view, int64_t batch,
                      int64_t length) {
  if (!view) return {};
  if (view->length != length || (view->batch != batch && view->batch != 1)) {
    return refuse(fmt::format("{} are [{}, {}]: expected [{}, {}], or 1 row for all", name,
                              view->batch, view->length, batch, length));
  }
  if (view->data == nullptr && length > 0 && batch > 0) {
    return refuse(fmt::format("{} have no data", name));
  }
  for (int64_t b = 0; b < (batch == 0 ? 0 : view->batch); ++b) {
    for (int64_t i = 0; i < length; ++i) {
      const auto segment =
          static_cast<int64_t>(view->data[b * view->batch_stride + i * view->length_stride]);
      if (segment >= 0) continue;
      return refuse(
          fmt::format("{}[{}, {}] is {}: expected 0 (padding) or above", name, b, i, segment));
    }
  }
  return {};
}

bool is_whole(const PositionView& view) {
  return !std::holds_alternative<PositionView::Coordinates>(view.source());
}

Status check_order(std::string_view name, const PositionView& view, int64_t batch, int64_t length) {
  const std::string place = fmt::format("{}: {}", operation, name);
  HODO_RETURN_IF_ERROR(check_shape(place, view, 1, batch, length));
  if (!is_whole(view)) return refuse(fmt::format("{}: expected whole numbers", name));
  const auto outside = find_outside(view, batch, length, -max_position, max_position);
  if (!outside) return {};
  return Error{ErrorKind::limit,
               fmt::format("{}: {} ({}): expected {} to {}", place, outside->value, outside->place,
                           -max_position, max_position)};
}

bool rows_differ(const PositionView& view) {
  return std::visit(
      [](const auto& source) {
        if constexpr (requires { source.batch; }) return source.batch > 1;
        return false;
      },
      view.source());
}

bool rows_differ(const std::optional<SegmentView>& view) { return view && view->batch > 1; }

}  // namespace

bool AttentionCall::needs_numbers() const {
  return plan.distance_bias || plan.query_table_bias || !plan.logit_scales.empty();
}

bool AttentionCall::sequences_differ() const {
  return rows_differ(query_positions) || rows_differ(key_positions) || rows_differ(query_order) ||
         rows_differ(key_order) || rows_differ(options.query_segments) ||
         rows_differ(options.key_segments);
}

Result<AttentionCall> check_attention(const Plan& plan, const HeadsView& q, const HeadsView& k,
                                      const HeadsView& v, const HeadsView& out,
                                      const AttentionOptions& options) {
  HODO_RETURN_IF_ERROR(check_shapes(plan, q, k, v, out));
  HODO_RETURN_IF_ERROR(check_learned(plan, options.learned, q.heads, q.head_dim, v.head_dim));
  HODO_RETURN_IF_ERROR(check(options.mask, operation));
  if (!options.sinks.empty()) {
    HODO_RETURN_IF_ERROR(check_size("sinks", options.sinks.size(), q.heads, "[num_heads]"));
  }
  const bool same_order = std::holds_alternative<BidirectionalMask>(options.mask);
  const bool placed = !plan.rotations.empty() || plan.distance_bias || plan.query_table_bias ||
                      !plan.logit_scales.empty();
  if (q.length > k.length && !options.query_positions && (placed || !same_order)) {
    return refuse(fmt::format("{} queries and {} keys: expected query_positions, because the "
                              "queries cannot be the last of the keys",
                              q.length, k.length))
        .error();
  }
  const PositionView last = PositionView::range(k.length - q.length);
  const PositionView all = PositionView::range(0);
  AttentionCall call{plan,
                     q,
                     k,
                     v,
                     out,
                     options,
                     options.query_positions.value_or(last.same_on_axes(plan.num_axes())),
                     options.key_positions.value_or(all.same_on_axes(plan.num_axes())),
                     last,
                     all,
                     options.scale.value_or(1 / std::sqrt(static_cast<double>(q.head_dim)))};
  const bool orders =
      plan.num_axes() == 1 && is_whole(call.query_positions) && is_whole(call.key_positions);
  call.query_order = options.query_order.value_or(orders ? call.query_positions : last);
  call.key_order = options.key_order.value_or(orders ? call.key_positions : all);

  HODO_RETURN_IF_ERROR(
      check_positions("attention: query_positions", plan, call.query_positions, q.batch, q.length));
  HODO_RETURN_IF_ERROR(
      check_positions("attention: key_positions", plan, call.key_positions, q.batch, k.length));
  HODO_RETURN_IF_ERROR(check_order("query_order", call.query_order, q.batch, q.length));
  HODO_RETURN_IF_ERROR(check_order("key_order", call.key_order, q.batch, k.length));
  if (call.needs_numbers() && !(is_whole(call.query_positions) && is_whole(call.key_positions))) {
    return refuse(fmt::format("the method {} goes by whole distances: expected positions that are "
                              "whole numbers",
                              method_name(plan.spec)))
        .error();
  }
  if (options.query_segments.has_value() != options.key_segments.has_value()) {
    return refuse("segments of queries or of keys only: expected both").error();
  }
  HODO_RETURN_IF_ERROR(check_segments("query_segments", options.query_segments, q.batch, q.length));
  HODO_RETURN_IF_ERROR(check_segments("key_segments", options.key_segments, q.batch, k.length));
  if (!std::isfinite(call.scale)) {
    return refuse(fmt::format("scale is {}: expected a finite number", call.scale)).error();
  }
  if (!std::isfinite(options.soft_cap) || options.soft_cap < 0) {
    return refuse(fmt::format("soft_cap is {}: expected 0 (none) or a finite number above it",
                              options.soft_cap))
        .error();
  }
  if (options.soft_cap > 0 && plan.query_table_bias) {
    return Error{ErrorKind::unsupported, fmt::format("{}: a soft cap with the table of {}",
                                                     operation, method_name(plan.spec))};
  }
  return call;
}

}  // namespace hodometer::internal
