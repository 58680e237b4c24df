#include "hodometer/ops/bias_rows.h"

#include <fmt/format.h>

#include "hodometer/plan/bias_array.h"

namespace hodometer {
namespace {

constexpr int64_t most_values = int64_t{1} << 26;

}  // namespace

Status check_distance_positions(std::string_view name, std::span<const int64_t> positions) {
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < -max_position || positions[i] > max_position) {
      return Error{ErrorKind::limit, fmt::format("{}[{}] is {}: expected {} to {}", name, i,
                                                 positions[i], -max_position, max_position)};
    }
  }
  return {};
}

Result<std::vector<float>> bias_rows(const Plan& plan, std::span<const float> table,
                                     std::span<const int64_t> query_positions,
                                     std::span<const int64_t> key_positions) {
  if (!plan.distance_bias) {
    return Error{ErrorKind::usage, fmt::format("bias_rows: the method {} adds no bias to scores",
                                               method_name(plan.spec))};
  }
  const int64_t num_heads = plan.distance_bias->num_heads;
  const auto queries = static_cast<int64_t>(query_positions.size());
  const auto keys = static_cast<int64_t>(key_positions.size());
  if (queries > most_values || keys > most_values ||
      (queries * keys > 0 && num_heads > most_values / (queries * keys))) {
    return Error{ErrorKind::usage,
                 fmt::format("bias_rows: {} heads, {} queries, {} keys: expected at most {} values",
                             num_heads, queries, keys, most_values)};
  }
  HODO_RETURN_IF_ERROR(check_distance_positions("bias_rows: query_positions", query_positions));
  HODO_RETURN_IF_ERROR(check_distance_positions("bias_rows: key_positions", key_positions));

  HODO_RETURN_IF_ERROR(check_bias("bias_rows", *plan.distance_bias, table));

  std::vector<float> rows(static_cast<size_t>(num_heads * queries * keys));
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t k = 0; k < keys; ++k) {
      const int64_t distance =
          query_positions[static_cast<size_t>(q)] - key_positions[static_cast<size_t>(k)];
      for (int64_t head = 0; head < num_heads; ++head) {
        rows[static_cast<size_t>((head * queries + q) * keys + k)] =
            bias_value(*plan.distance_bias, table, head, distance);
      }
    }
  }
  return rows;
}

}  // namespace hodometer
