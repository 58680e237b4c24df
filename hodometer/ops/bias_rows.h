#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/plan/plan.h"

namespace hodometer {

/// The values that the plan adds to scores, spread out for people to look at: [num_heads, queries,
/// keys]. Attention never makes them; it reads an array over distance. `table` is the learned
/// [num_buckets, num_heads] where the bias is learned, else empty.
///
/// Errors: a plan without a distance bias; a table of another size; positions outside
/// -(2^31 - 1) to 2^31 - 1; more than 2^26 values.
Result<std::vector<float>> bias_rows(const Plan& plan, std::span<const float> table,
                                     std::span<const int64_t> query_positions,
                                     std::span<const int64_t> key_positions);

/// Fails unless every position lies within +-max_position, where distances are sure to be numbers.
/// `name` begins the message.
Status check_distance_positions(std::string_view name, std::span<const int64_t> positions);

}  // namespace hodometer
