#include "hodometer/methods/action.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hodometer {

int64_t DistanceBias::num_buckets() const {
  const auto one_side = static_cast<int64_t>(bucket_starts.size());
  return right_bucket_offset == 0 ? one_side : 2 * one_side;
}

int64_t DistanceBias::bucket(int64_t distance) const {
  const bool right = distance < 0;
  if (right && right_bucket_offset == 0) return 0;
  const int64_t reach = right ? -std::max(distance, -INT64_MAX) : distance;
  const auto after = std::upper_bound(bucket_starts.begin(), bucket_starts.end(), reach);
  return (after - bucket_starts.begin()) - 1 + (right ? right_bucket_offset : 0);
}

int64_t QueryTableBias::row(int64_t distance) const {
  return left - std::clamp(distance, -right, left);
}

double LogitScale::at(int64_t query_position) const {
  const double position = static_cast<double>(query_position);
  double scale = constant;
  if (beta != 0) {
    const double steps =
        std::max(0.0, std::floor((position + static_cast<double>(offset)) / floor_scale));
    scale *= 1 + beta * std::log1p(steps);
  }
  if (log_n_trained > 0) {
    scale *= std::max(1.0, std::log(position + 1) / std::log(static_cast<double>(log_n_trained)));
  }
  return scale;
}

}  // namespace hodometer
