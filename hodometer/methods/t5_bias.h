#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

namespace hodometer {

/// A learned value per head and bucket of distances, added to the score. The values are weights
/// and are given to the operation. Source: Raffel et al. 2020, section 2.1; buckets as in Hugging
/// Face's `_relative_position_bucket`.
struct T5Bias {
  int64_t num_heads = 0;
  int64_t relative_attention_num_buckets = 32;
  int64_t relative_attention_max_distance = 128;
  bool bidirectional = false;

  static constexpr std::string_view name = "t5_bias";
  static constexpr auto fields() {
    return std::tuple{
        required("num_heads", &T5Bias::num_heads, "heads", "one learned value each"),
        optional("relative_attention_num_buckets", &T5Bias::relative_attention_num_buckets,
                 "buckets", "both directions together"),
        optional("relative_attention_max_distance", &T5Bias::relative_attention_max_distance,
                 "positions", "from here on every distance shares the last bucket"),
        required("bidirectional", &T5Bias::bidirectional, "",
                 "whether keys right of the query have buckets of their own")};
  }
};

Status check(const T5Bias& spec);
std::vector<Action> actions(const T5Bias& spec, int64_t context_length);

}  // namespace hodometer
