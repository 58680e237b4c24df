#include <algorithm>

#include "hodometer/ops/seen_keys-inl.h"

namespace hodometer::internal {
namespace {

constexpr SegmentId no_segments{1};

SegmentId segment_of(const MaskedTokens& tokens, int64_t token) {
  return tokens.segments ? (*tokens.segments)[token] : no_segments;
}

NumberRow list_row(const int64_t* list, int64_t stride, int64_t length) {
  for (int64_t i = 1; i < length; ++i) {
    if (list[i * stride] != list[0] + i) return {0, list, stride};
  }
  return {length > 0 ? list[0] : 0, nullptr, 1};
}

}  // namespace

NumberRow number_row(const PositionView& view, int64_t sequence, int64_t length) {
  if (const auto* run = std::get_if<PositionView::Run>(&view.source())) return {run->first};
  if (const auto* starts = std::get_if<PositionView::Starts>(&view.source())) {
    return {starts->first[starts->batch == 1 ? 0 : sequence * starts->stride]};
  }
  const auto& ids = std::get<PositionView::Ids>(view.source());
  return list_row(ids.data + (ids.batch == 1 ? 0 : sequence * ids.batch_stride), ids.length_stride,
                  length);
}

SegmentRow segment_row(const SegmentView& view, int64_t sequence) {
  return {view.data + (view.batch == 1 ? 0 : sequence * view.batch_stride), view.length_stride};
}

SeenKeys::SeenKeys(const Mask& mask, const MaskedTokens& queries, const MaskedTokens& keys)
    : mask_(mask), queries_(queries), keys_(keys) {
  const std::vector<Run> runs = runs_of(keys);
  ranges_.reserve(static_cast<size_t>(queries.length));
  for (int64_t query = 0; query < queries.length; ++query) add_range(query, runs);
}

std::vector<SeenKeys::Run> SeenKeys::runs_of(const MaskedTokens& keys) {
  std::vector<Run> runs;
  if (keys.order.is_run() && !keys.segments) {
    runs.push_back({0, keys.length, keys.order.first, no_segments});
    return runs;
  }
  for (int64_t key = 0; key < keys.length; ++key) {
    const int64_t place = keys.order[key];
    const SegmentId segment = segment_of(keys, key);
    if (segment == SegmentId::padding) continue;
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.end == key && last.segment == segment && place - last.first == key - last.begin) {
        ++last.end;
        continue;
      }
    }
    runs.push_back({key, key + 1, place, segment});
  }
  return runs;
}

void SeenKeys::add_range(int64_t query, const std::vector<Run>& runs) {
  KeyRange range;
  int64_t seen = 0;
  const SegmentId segment = segment_of(queries_, query);
  const PositionInterval interval = seen_positions(mask_, queries_.order[query]);
  for (const Run& run : runs) {
    if (run.segment != segment) continue;
    const int64_t begin = run.begin + std::max<int64_t>(0, interval.first - run.first);
    const int64_t end = std::min(run.end, run.begin + interval.last - run.first + 1);
    if (begin >= end) continue;
    if (seen == 0) range.begin = begin;
    range.end = end;
    seen += end - begin;
  }
  whole_ = whole_ && seen == range.end - range.begin;
  ranges_.push_back(range);
}

bool SeenKeys::sees(int64_t query, int64_t key) const {
  const SegmentId segment = segment_of(queries_, query);
  if (segment == SegmentId::padding || segment != segment_of(keys_, key)) return false;
  const PositionInterval interval = seen_positions(mask_, queries_.order[query]);
  return keys_.order[key] >= interval.first && keys_.order[key] <= interval.last;
}

}  // namespace hodometer::internal
