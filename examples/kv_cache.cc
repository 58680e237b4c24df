// A text that goes on after its cache is full: with every token one of the oldest goes, and the
// positions of those after it close up. Then the schedule of frequencies is switched. Keys are
// compared with keys that were never cached, beside a cache that stores them again at every shift.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "hodometer/hodometer.h"

using namespace hodometer;

namespace {

constexpr int64_t num_heads = 4, head_dim = 64;
constexpr int64_t sinks = 4, window = 1100, text_length = 2200;

using Row = std::array<float, num_heads * head_dim>;

/// What a model projects for a token, here from a generator; a key has the lanes of one head.
Row projected(int64_t token) {
  Row row;
  auto seed = static_cast<uint32_t>(token);
  for (float& lane : row) {
    seed = seed * 1664525U + 1013904223U;
    lane = static_cast<float>(seed >> 8) * 0x1p-23f - 1;
  }
  return row;
}

HeadsView heads_of(Row& row, int64_t heads) {
  return HeadsView::bshd(row.data(), DType::float32, 1, 1, heads, head_dim);
}

Status append(KvCache& cache, int64_t token) {
  Row row = projected(token);
  const HeadsView one_head = heads_of(row, 1);
  return cache.append(one_head, one_head, PositionView::range(cache.next_position()));
}

Status shift_context(KvCache& cache) {
  const int64_t gap = cache.tokens() - sinks - window;
  if (gap <= 0) return {};
  HODO_RETURN_IF_ERROR(cache.keep_sinks_and_window(sinks, window));
  return cache.shift_keys(TokenRange{sinks, sinks + window}, -gap);
}

/// The largest distance of a cached key from one that is turned where it stands, in roundings to
/// bfloat16: of 2^-8 of the length of the pair of lanes.
Result<double> worst_error(const KvCache& cache, const Plan& plan) {
  double worst = 0;
  for (int64_t i = 0; i < cache.tokens(); ++i) {
    Row exact = projected(i < sinks ? i : text_length - cache.tokens() + i), kept = exact;
    const int64_t position = cache.positions()[static_cast<size_t>(i)];
    HODO_RETURN_IF_ERROR(rotate(plan, heads_of(exact, 1), PositionView::range(position)));
    HODO_RETURN_IF_ERROR(cache.read_keys({i, i + 1}, heads_of(kept, 1)));
    for (size_t x = 0; x < head_dim / 2; ++x) {
      const size_t y = x + head_dim / 2;
      const float length = std::hypot(exact[x], exact[y]);
      const float error = std::hypot(kept[x] - exact[x], kept[y] - exact[y]);
      worst = std::max(worst, static_cast<double>(error / length) * 0x1p8);
    }
  }
  return worst;
}

Status stream() {
  HODO_ASSIGN(const PositionSpec spec, parse_spec(R"({
      "method": "rotary", "head_dim": 64, "layout": "half_split", "base": 10000, "schedule": {
          "rope_type": "dynamic", "factor": 4, "original_max_position_embeddings": 2048}})"));
  HODO_ASSIGN(Plan made, make_plan(spec, 2048));
  const auto plan = std::make_shared<const Plan>(std::move(made));
  KvCacheOptions options;
  options.num_kv_heads = 1;
  options.head_dim = options.value_dim = head_dim;
  options.type = KvType::bfloat16;
  HODO_ASSIGN(KvCache cache, KvCache::make(options, plan));
  HODO_ASSIGN(KvCache stored_again, KvCache::make(options, plan));

  Row out;
  for (int64_t token = 0; token < text_length; ++token) {
    HODO_RETURN_IF_ERROR(append(cache, token));
    HODO_RETURN_IF_ERROR(shift_context(cache));
    Row q = projected(-token);
    HODO_RETURN_IF_ERROR(attention(*plan, heads_of(q, num_heads), cache, heads_of(out, num_heads)));

    HODO_RETURN_IF_ERROR(append(stored_again, token));
    HODO_RETURN_IF_ERROR(shift_context(stored_again));
    stored_again.settle();
  }
  std::printf("%lld tokens came, %lld are kept, the next one stands at %lld\n",
              static_cast<long long>(text_length), static_cast<long long>(cache.tokens()),
              static_cast<long long>(cache.next_position()));
  HODO_ASSIGN(const double error, worst_error(cache, *plan));
  HODO_ASSIGN(const double drift, worst_error(stored_again, *plan));
  std::printf("after %lld shifts keys are off by %.2f roundings; stored at every shift, by %.1f\n",
              static_cast<long long>(text_length - sinks - window), error, drift);

  // The text is going to be longer than the model was trained for: another base.
  HODO_ASSIGN(Plan longer, make_plan(spec, 4096));
  const auto next = std::make_shared<const Plan>(std::move(longer));
  HODO_RETURN_IF_ERROR(cache.reschedule_keys(next));
  Row q = projected(-text_length);
  HODO_RETURN_IF_ERROR(attention(*next, heads_of(q, num_heads), cache, heads_of(out, num_heads)));
  HODO_ASSIGN(const double switched, worst_error(cache, *next));
  std::printf("by the frequencies for 4096 tokens they are off by %.2f\n", switched);
  if (error > 1.001 || switched > 1.001) {
    return Error{ErrorKind::bad_input, "kv_cache: expected keys within one rounding"};
  }
  return {};
}

}  // namespace

int main() {
  const Status status = stream();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
