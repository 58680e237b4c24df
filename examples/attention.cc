// Two sequences packed into one row, attended with ALiBi, and one more token of the first of them
// over the keys that are kept.

#include <cstdio>
#include <vector>

#include "hodometer/hodometer.h"

using namespace hodometer;

Status packed_attention() {
  constexpr int64_t num_heads = 8, num_kv_heads = 2, head_dim = 64;
  HODO_ASSIGN(const PositionSpec spec, parse_spec(R"({"method": "alibi", "num_heads": 8})"));
  HODO_ASSIGN(const Plan plan, make_plan(spec, 4096));

  // Lengths 5 and 3: positions 0 to 4 and 0 to 2, segments 1 and 2.
  const std::vector<int64_t> cu_seqlens{0, 5, 8};
  HODO_ASSIGN(const PackedIds packed, packed_ids(cu_seqlens));
  const auto length = static_cast<int64_t>(packed.ids.size());
  std::vector<float> q(static_cast<size_t>(length * num_heads * head_dim), 0.5f);
  std::vector<float> k(static_cast<size_t>(length * num_kv_heads * head_dim), 0.25f);
  std::vector<float> v(k.size());
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = static_cast<float>(i / (num_kv_heads * head_dim));  // the index of the token
  }
  std::vector<float> out(q.size());

  AttentionOptions options;
  options.query_positions = options.key_positions = PositionView::shared_ids(packed.ids);
  options.query_segments = options.key_segments =
      SegmentView::contiguous(packed.segments.data(), 1, length);
  const HeadsView keys =
      HeadsView::bshd(k.data(), DType::float32, 1, length, num_kv_heads, head_dim);
  const HeadsView values =
      HeadsView::bshd(v.data(), DType::float32, 1, length, num_kv_heads, head_dim);
  HODO_RETURN_IF_ERROR(attention(
      plan, HeadsView::bshd(q.data(), DType::float32, 1, length, num_heads, head_dim), keys, values,
      HeadsView::bshd(out.data(), DType::float32, 1, length, num_heads, head_dim), options));
  std::printf("mean token seen by head 0: %.3f by token 4, %.3f by token 7\n",
              static_cast<double>(out[4 * num_heads * head_dim]),
              static_cast<double>(out[7 * num_heads * head_dim]));

  // Decoding: the query stands at the last key unless something else is said.
  HeadsView first_five = keys, first_values = values;
  first_five.length = first_values.length = 5;
  HODO_RETURN_IF_ERROR(attention(
      plan, HeadsView::bshd(q.data(), DType::float32, 1, 1, num_heads, head_dim), first_five,
      first_values, HeadsView::bshd(out.data(), DType::float32, 1, 1, num_heads, head_dim)));
  std::printf("the same by one query over five keys: %.3f\n", static_cast<double>(out[0]));
  return {};
}

int main() {
  const Status status = packed_attention();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
