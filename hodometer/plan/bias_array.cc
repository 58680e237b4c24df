#include "hodometer/plan/bias_array.h"

#include <fmt/format.h>

namespace hodometer {

Result<BiasArray> make_bias_array(const DistanceBias& bias, std::span<const float> table,
                                  int64_t first_distance, int64_t last_distance) {
  constexpr int64_t far = int64_t{1} << 32;
  if (first_distance > last_distance || first_distance <= -far || last_distance >= far) {
    return Error{ErrorKind::usage,
                 fmt::format("bias array: distances {} to {}: expected an ascending range within "
                             "+-2^32",
                             first_distance, last_distance)};
  }
  const bool learned = bias.slopes.empty();
  const int64_t wanted = learned ? bias.num_buckets() * bias.num_heads : 0;
  if (static_cast<int64_t>(table.size()) != wanted) {
    return Error{
        ErrorKind::usage,
        fmt::format("bias array: the learned table has {} values: expected {} ({} buckets "
                    "of {} heads)",
                    table.size(), wanted, learned ? bias.num_buckets() : 0, bias.num_heads)};
  }
  BiasArray array;
  array.num_heads = bias.num_heads;
  array.first_distance = first_distance;
  array.num_distances = last_distance - first_distance + 1;
  if (array.num_distances > far / bias.num_heads) {
    return Error{ErrorKind::limit,
                 fmt::format("bias array: {} distances of {} heads: expected at most 2^32 values",
                             array.num_distances, bias.num_heads)};
  }
  array.values.resize(static_cast<size_t>(array.num_heads * array.num_distances));
  for (int64_t i = 0; i < array.num_distances; ++i) {
    const int64_t distance = first_distance + i;
    const double reach = static_cast<double>(distance < 0 ? -distance : distance);
    const int64_t row = learned ? bias.bucket(distance) * bias.num_heads : 0;
    for (int64_t head = 0; head < bias.num_heads; ++head) {
      array.values[static_cast<size_t>(head * array.num_distances + i)] =
          learned ? table[static_cast<size_t>(row + head)]
                  : static_cast<float>(0.0 - bias.slopes[static_cast<size_t>(head)] * reach);
    }
  }
  return array;
}

}  // namespace hodometer
