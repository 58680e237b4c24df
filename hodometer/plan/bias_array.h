#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

namespace hodometer {

/// A distance bias spread over a range of distances: one array per head, never a matrix. The bias
/// of query m and key n is at(head, m - n), so row m is a slice of the array, reversed.
struct BiasArray {
  int64_t num_heads = 0;
  int64_t first_distance = 0;  ///< query - key of element 0
  int64_t num_distances = 0;
  std::vector<float> values = {};  ///< [num_heads, num_distances]

  float at(int64_t head, int64_t distance) const {
    return values[static_cast<size_t>(head * num_distances + distance - first_distance)];
  }
};

/// That `table` is what a bias learned per bucket needs, [num_buckets, num_heads], or empty for one
/// with slopes.
Status check_bias(std::string_view operation, const DistanceBias& bias,
                  std::span<const float> table);

/// The bias of one head at a distance (query - key), rounded once. Everything was checked before.
float bias_value(const DistanceBias& bias, std::span<const float> table, int64_t head,
                 int64_t distance);

/// Spreads `bias` over distances first_distance to last_distance (query - key), both included.
///
/// `table` is [num_buckets, num_heads] for a bias that is learned per bucket, else empty. Errors:
/// a table of another size, an empty range, or one above 2^32 values.
Result<BiasArray> make_bias_array(const DistanceBias& bias, std::span<const float> table,
                                  int64_t first_distance, int64_t last_distance);

}  // namespace hodometer
