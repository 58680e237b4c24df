#include <algorithm>

#include "hodometer/ops/attention_waves-inl.h"

namespace hodometer::internal {

KeyRange union_of(std::span<const KeyRange> ranges) {
  KeyRange all;
  for (const KeyRange& range : ranges) {
    if (range.begin >= range.end) continue;
    all = all.begin >= all.end
              ? range
              : KeyRange{std::min(all.begin, range.begin), std::max(all.end, range.end)};
  }
  return all;
}

bool meet(const KeyRange& a, const KeyRange& b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

int64_t wave_tokens(int64_t length) {
  constexpr int64_t tile = 192, most_parts = 32;
  const int64_t tiles = (length + most_parts * tile - 1) / (most_parts * tile);
  return tile * std::max<int64_t>(2, tiles);
}

Waves make_waves(std::span<const KeyRange> ranges, int64_t num_keys, int64_t tokens) {
  const auto length = static_cast<int64_t>(ranges.size());
  const int64_t queries = (length + tokens - 1) / tokens, keys = (num_keys + tokens - 1) / tokens;
  std::vector<KeyRange> seen;
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t first = i * tokens;
    seen.push_back(union_of(ranges.subspan(static_cast<size_t>(first),
                                           static_cast<size_t>(std::min(tokens, length - first)))));
  }
  // A part is taken in the steps that its row marks.
  const int64_t most = std::max(queries, keys);
  std::vector<std::vector<bool>> query_taken(static_cast<size_t>(queries)),
      key_taken(static_cast<size_t>(keys));
  const auto taken = [](const std::vector<bool>& row, size_t step) {
    return step < row.size() && row[step];
  };
  const auto take = [](std::vector<bool>& row, size_t step) {
    if (row.size() <= step) row.resize(step + 1);
    row[step] = true;
  };
  Waves waves;
  // Along anti-diagonals half of the parts have a pair under a causal mask, in every step as many.
  // Each pair goes into the first step that has both of its parts free, so that a band near the
  // diagonal takes as few steps as it is wide.
  for (int64_t diagonal = 0; diagonal < most; ++diagonal) {
    for (int64_t i = 0; i < queries; ++i) {
      const int64_t j = (diagonal - i % most + most) % most;
      if (j >= keys || !meet(seen[static_cast<size_t>(i)], {j * tokens, (j + 1) * tokens}))
        continue;
      std::vector<bool>& by_query = query_taken[static_cast<size_t>(i)];
      std::vector<bool>& by_key = key_taken[static_cast<size_t>(j)];
      size_t step = 0;
      while (taken(by_query, step) || taken(by_key, step)) ++step;
      take(by_query, step);
      take(by_key, step);
      if (waves.size() <= step) waves.resize(step + 1);
      waves[step].push_back({i, j});
    }
  }
  return waves;
}

}  // namespace hodometer::internal
