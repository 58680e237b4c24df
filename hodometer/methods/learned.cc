#include "hodometer/methods/learned.h"

#include "hodometer/base/check.h"

namespace hodometer {

Status check(const Learned& spec) {
  HODO_RETURN_IF_ERROR(
      check_between("max_position_embeddings", spec.max_position_embeddings, 1, max_rows));
  HODO_RETURN_IF_ERROR(check_between("dim", spec.dim, 1, max_dim));
  return check_between("offset", spec.offset, 0, max_rows);
}

std::vector<Action> actions(const Learned& spec, int64_t) {
  AddRow row;
  row.dim = spec.dim;
  row.offset = spec.offset;
  row.num_rows = spec.max_position_embeddings + spec.offset;
  return {row};
}

}  // namespace hodometer
