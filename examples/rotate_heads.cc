// A token for two sequences of different lengths: positions, plan, rotation, and what went wrong if
// it did.

#include <array>
#include <cstdio>
#include <vector>

#include "hodometer/hodometer.h"

using namespace hodometer;

Status decode_step() {
  HODO_ASSIGN(const PositionSpec spec, parse_spec(R"({
      "method": "rotary", "head_dim": 128, "layout": "half_split", "base": 1000000,
      "schedule": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768}})"));
  HODO_ASSIGN(const Plan plan, make_plan(spec, 131072));

  // Row 0 has 5 valid tokens, row 1 three: their next tokens stand at 5 and at 3.
  const std::vector<uint8_t> mask{1, 1, 1, 1, 1, 0, 0, 1, 1, 1};
  HODO_ASSIGN(const MaskedIds masked, ids_from_mask(mask, 5));

  std::vector<float> q(2 * 32 * 128, 1.0f);
  std::vector<float> k(2 * 8 * 128, 1.0f);
  const std::array tensors{HeadsView::bshd(q.data(), DType::float32, 2, 1, 32, 128),
                           HeadsView::bshd(k.data(), DType::float32, 2, 1, 8, 128)};
  HODO_RETURN_IF_ERROR(rotate(plan, tensors, PositionView::starts(masked.next)));
  std::printf("positions %lld and %lld: q[0] is %.6f and %.6f\n",
              static_cast<long long>(masked.next[0]), static_cast<long long>(masked.next[1]),
              static_cast<double>(q[0]), static_cast<double>(q[32 * 128]));
  return {};
}

int main() {
  const Status status = decode_step();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
