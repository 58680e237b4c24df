#include "hodometer/methods/shaw.h"

#include "hodometer/base/check.h"

namespace hodometer {

Status check(const Shaw& spec) {
  const bool left = spec.left_max_position_embeddings.has_value();
  const bool right = spec.right_max_position_embeddings.has_value();
  if (left != right || spec.max_distance.has_value() == left) {
    return Error{ErrorKind::bad_input,
                 "expected either max_distance, or both left_max_position_embeddings and "
                 "right_max_position_embeddings"};
  }
  HODO_RETURN_IF_ERROR(check_at_least("max_distance", spec.max_distance.value_or(0), 0));
  HODO_RETURN_IF_ERROR(check_at_least("left_max_position_embeddings",
                                      spec.left_max_position_embeddings.value_or(0), 0));
  return check_at_least("right_max_position_embeddings",
                        spec.right_max_position_embeddings.value_or(0), 0);
}

std::vector<Action> actions(const Shaw& spec, int64_t) {
  QueryTableBias bias;
  bias.left = spec.left_max_position_embeddings.value_or(spec.max_distance.value_or(0));
  bias.right = spec.right_max_position_embeddings.value_or(spec.max_distance.value_or(0));
  bias.adds_to_values = spec.values;
  return {bias};
}

}  // namespace hodometer
