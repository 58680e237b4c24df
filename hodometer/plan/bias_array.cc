#include "hodometer/plan/bias_array.h"

#include <fmt/format.h>

namespace hodometer {

Status check_bias(std::string_view operation, const DistanceBias& bias,
                  std::span<const float> table) {
  const bool learned = bias.slopes.empty();
  if (bias.num_heads < 1 || bias.num_heads > max_num_heads ||
      (learned ? bias.bucket_starts.empty()
               : static_cast<int64_t>(bias.slopes.size()) != bias.num_heads)) {
    return Error{
        ErrorKind::usage,
        fmt::format("{}: {} heads, {} slopes, {} buckets: expected a slope per head, or "
                    "buckets",
                    operation, bias.num_heads, bias.slopes.size(), bias.bucket_starts.size())};
  }
  const int64_t wanted = learned ? bias.num_buckets() * bias.num_heads : 0;
  if (static_cast<int64_t>(table.size()) == wanted) return {};
  return Error{
      ErrorKind::usage,
      fmt::format("{}: the learned table has {} values: expected {} ({} buckets of {} heads)",
                  operation, table.size(), wanted, learned ? bias.num_buckets() : 0,
                  bias.num_heads)};
}

float bias_value(const DistanceBias& bias, std::span<const float> table, int64_t head,
                 int64_t distance) {
  if (bias.slopes.empty()) {
    return table[static_cast<size_t>(bias.bucket(distance) * bias.num_heads + head)];
  }
  // Taken from 0, so that distance 0 gives 0 and not -0.
  const double reach = static_cast<double>(distance < 0 ? -distance : distance);
  return static_cast<float>(0.0 - bias.slopes[static_cast<size_t>(head)] * reach);
}

Result<BiasArray> make_bias_array(const DistanceBias& bias, std::span<const float> table,
                                  int64_t first_distance, int64_t last_distance) {
  constexpr int64_t far = int64_t{1} << 32;
  if (first_distance > last_distance || first_distance <= -far || last_distance >= far) {
    return Error{ErrorKind::usage,
                 fmt::format("bias array: distances {} to {}: expected an ascending range within "
                             "+-2^32",
                             first_distance, last_distance)};
  }
  HODO_RETURN_IF_ERROR(check_bias("bias array", bias, table));
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
    for (int64_t head = 0; head < bias.num_heads; ++head) {
      array.values[static_cast<size_t>(head * array.num_distances + i)] =
          bias_value(bias, table, head, distance);
    }
  }
  return array;
}

}  // namespace hodometer
