#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

namespace hodometer {

/// A learned row per position, added to the embedding. The rows are weights and are given to the
/// operation. Sources: BERT, GPT-2 (offset 0); OPT, BART, RoBERTa (offset 2).
struct Learned {
  int64_t max_position_embeddings = 0;
  int64_t dim = 0;
  int64_t offset = 0;

  static constexpr std::string_view name = "learned";
  static constexpr auto fields() {
    return std::tuple{required("max_position_embeddings", &Learned::max_position_embeddings,
                               "positions", "longest legal input; the table has offset rows more"),
                      required("dim", &Learned::dim, "lanes", "width of the embedding"),
                      optional("offset", &Learned::offset, "rows", "row of position 0")};
  }
};

Status check(const Learned& spec);
std::vector<Action> actions(const Learned& spec, int64_t context_length);

}  // namespace hodometer
