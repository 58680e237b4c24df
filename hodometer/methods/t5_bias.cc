#include "hodometer/methods/t5_bias.h"

#include <fmt/format.h>

#include "hodometer/base/check.h"

namespace hodometer {
namespace {

int64_t buckets_per_direction(const T5Bias& spec) {
  return spec.bidirectional ? spec.relative_attention_num_buckets / 2
                            : spec.relative_attention_num_buckets;
}

// The smallest whole distance at or above the real boundary. A boundary that is a whole number
// (128 = 8 * 16^(4/4), 32 = 8 * 16^(2/4)) comes out of the logarithms as one to about 30 digits.
int64_t first_distance(Real boundary) {
  return static_cast<int64_t>(ceil(boundary - 1e-20 * boundary).to_double());
}

}  // namespace

Status check(const T5Bias& spec) {
  HODO_RETURN_IF_ERROR(check_between("num_heads", spec.num_heads, 1, max_num_heads));
  HODO_RETURN_IF_ERROR(check_between("relative_attention_num_buckets",
                                     spec.relative_attention_num_buckets,
                                     spec.bidirectional ? 4 : 2, int64_t{1} << 20));
  if (spec.bidirectional && spec.relative_attention_num_buckets % 2 != 0) {
    return Error{ErrorKind::bad_input,
                 fmt::format("relative_attention_num_buckets is {}: expected an even number where "
                             "the bias is bidirectional (half of them for each direction)",
                             spec.relative_attention_num_buckets)};
  }
  // Half the buckets of a direction are one distance each; the rest grow up to the maximum.
  return check_at_least("relative_attention_max_distance", spec.relative_attention_max_distance,
                        buckets_per_direction(spec) / 2 + 1);
}

std::vector<Action> actions(const T5Bias& spec, int64_t) {
  const int64_t buckets = buckets_per_direction(spec);
  const int64_t exact = buckets / 2;
  const int64_t growing = buckets - exact;
  DistanceBias bias;
  bias.num_heads = spec.num_heads;
  for (int64_t n = 0; n < exact; ++n) bias.bucket_starts.push_back(n);
  // Bucket exact + j starts where trunc(ln(n / exact) / ln(max / exact) * growing) reaches j.
  const Real log_ratio = log(Real(static_cast<double>(spec.relative_attention_max_distance)) /
                             static_cast<double>(exact));
  for (int64_t j = 0; j < growing; ++j) {
    const Real share = Real(static_cast<double>(j)) / static_cast<double>(growing);
    bias.bucket_starts.push_back(
        first_distance(static_cast<double>(exact) * exp(share * log_ratio)));
  }
  bias.right_bucket_offset = spec.bidirectional ? buckets : 0;
  return {bias};
}

}  // namespace hodometer
