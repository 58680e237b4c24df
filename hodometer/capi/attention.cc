#include <fmt/format.h>

#include <string>

#include "hodometer/capi/attention-inl.h"

namespace hodometer {
namespace {

Result<Mask> mask_of(std::string_view operation, const hodo_mask& mask) {
  hodo_mask_kind kind{};
  HODO_RETURN_IF_ERROR(capi::to_enum(operation, "mask.kind", mask.kind, 5, kind));
  switch (kind) {
    case HODO_MASK_CAUSAL:
      return Mask(CausalMask());
    case HODO_MASK_BIDIRECTIONAL:
      return Mask(BidirectionalMask());
    case HODO_MASK_WINDOW:
      return Mask(WindowMask{mask.left, mask.right});
    case HODO_MASK_CHUNKED:
      return Mask(ChunkedMask{mask.length});
    case HODO_MASK_PREFIX:
      break;
  }
  return Mask(PrefixMask{mask.length});
}

Status to_positions(std::string_view operation, const hodo_positions* from,
                    std::optional<PositionView>& to) {
  if (from == nullptr) return {};
  HODO_ASSIGN(const PositionView view, capi::view_of(operation, from));
  to = view;
  return {};
}

Status copy_segments(std::string_view operation, std::string_view name, const hodo_segments* from,
                     std::vector<SegmentId>& copy, std::optional<SegmentView>& to) {
  if (from == nullptr) return {};
  if (from->batch < 0 || from->length < 0 ||
      (from->batch > 0 && from->length > PTRDIFF_MAX / from->batch / 8)) {
    return Error{ErrorKind::usage, fmt::format("{}: {} are [{}, {}]: expected an array in memory",
                                               operation, name, from->batch, from->length)};
  }
  if (from->batch * from->length > 0) {
    HODO_RETURN_IF_ERROR(capi::check_given(operation, name, from->data));
  }
  for (int64_t b = 0; b < from->batch; ++b) {
    for (int64_t i = 0; i < from->length; ++i) {
      copy.push_back(SegmentId(from->data[b * from->batch_stride + i * from->length_stride]));
    }
  }
  to = SegmentView::contiguous(copy.data(), from->batch, from->length);
  return {};
}

}  // namespace

namespace capi {

Result<AttentionOptions> attention_options_of(std::string_view operation,
                                              const hodo_attention_options* given,
                                              AttentionSegments& segments) {
  const hodo_attention_options from = given == nullptr ? hodo_attention_defaults() : *given;
  AttentionOptions to;
  HODO_RETURN_IF_ERROR(to_positions(operation, from.query_positions, to.query_positions));
  HODO_RETURN_IF_ERROR(to_positions(operation, from.key_positions, to.key_positions));
  HODO_RETURN_IF_ERROR(to_positions(operation, from.query_order, to.query_order));
  HODO_RETURN_IF_ERROR(to_positions(operation, from.key_order, to.key_order));
  HODO_ASSIGN(to.mask, mask_of(operation, from.mask));
  HODO_RETURN_IF_ERROR(copy_segments(operation, "query_segments", from.query_segments,
                                     segments.queries, to.query_segments));
  HODO_RETURN_IF_ERROR(
      copy_segments(operation, "key_segments", from.key_segments, segments.keys, to.key_segments));
  HODO_RETURN_IF_ERROR(capi::to_enum(operation, "keys", from.keys, 2, to.keys));
  if (from.scale != nullptr) to.scale = *from.scale;
  to.soft_cap = from.soft_cap;
  HODO_RETURN_IF_ERROR(capi::to_span(operation, "sinks", from.sinks, from.sinks_size, to.sinks));
  LearnedBias& learned = to.learned;
  HODO_RETURN_IF_ERROR(
      capi::to_span(operation, "buckets", from.buckets, from.buckets_size, learned.buckets));
  HODO_RETURN_IF_ERROR(
      capi::to_span(operation, "key_rows", from.key_rows, from.key_rows_size, learned.key_rows));
  HODO_RETURN_IF_ERROR(capi::to_span(operation, "value_rows", from.value_rows, from.value_rows_size,
                                     learned.value_rows));
  to.log_sums = from.log_sums;
  return to;
}

}  // namespace capi
}  // namespace hodometer

using namespace hodometer;

extern "C" {

hodo_attention_options hodo_attention_defaults(void) {
  hodo_attention_options options{};
  options.keys = HODO_KEYS_UNTURNED;
  return options;
}

hodo_status hodo_attention(const hodo_plan* plan, const hodo_heads* q, const hodo_heads* k,
                           const hodo_heads* v, const hodo_heads* out,
                           const hodo_attention_options* options, hodo_executor* executor) {
  return capi::guard([&]() -> Status {
    constexpr std::string_view operation = "hodo_attention";
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "plan", plan));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "q", q));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "k", k));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "v", v));
    HODO_RETURN_IF_ERROR(capi::check_given(operation, "out", out));
    HODO_ASSIGN(const HeadsView queries, capi::heads_of(operation, *q));
    HODO_ASSIGN(const HeadsView keys, capi::heads_of(operation, *k));
    HODO_ASSIGN(const HeadsView values, capi::heads_of(operation, *v));
    HODO_ASSIGN(const HeadsView result, capi::heads_of(operation, *out));
    capi::AttentionSegments segments;
    HODO_ASSIGN(const AttentionOptions said,
                capi::attention_options_of(operation, options, segments));
    return attention(*plan->plan, queries, keys, values, result, said, capi::executor_of(executor));
  });
}

}  // extern "C"
