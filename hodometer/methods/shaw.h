#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

namespace hodometer {

/// A learned vector per clipped distance, added to the key (and optionally to the value). The
/// vectors are weights and are given to the operation. Source: Shaw, Uszkoreit and Vaswani 2018,
/// eqs. 3 to 5; keys only with two limits as in Hugging Face's Wav2Vec2-BERT.
struct Shaw {
  std::optional<int64_t> max_distance = {};
  std::optional<int64_t> left_max_position_embeddings = {};
  std::optional<int64_t> right_max_position_embeddings = {};
  bool values = false;

  static constexpr std::string_view name = "shaw";
  static constexpr auto fields() {
    return std::tuple{
        optional("max_distance", &Shaw::max_distance, "positions",
                 "clip on both sides; needed unless both sides are given"),
        optional("left_max_position_embeddings", &Shaw::left_max_position_embeddings, "positions",
                 "clip for keys left of the query"),
        optional("right_max_position_embeddings", &Shaw::right_max_position_embeddings, "positions",
                 "clip for keys right of the query"),
        optional("values", &Shaw::values, "", "whether values have a table too")};
  }
};

Status check(const Shaw& spec);
std::vector<Action> actions(const Shaw& spec, int64_t context_length);

}  // namespace hodometer
