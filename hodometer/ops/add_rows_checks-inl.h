#pragma once

// Private: the checks of what adds rows to embeddings, and of its backward pass. Not installed.

#include <optional>
#include <string_view>

#include "hodometer/ops/add_rows.h"

namespace hodometer::internal {

/// The errors of add_rows().
Status check_add_rows(std::string_view operation, const Plan& plan, const EmbeddingsView& x,
                      const PositionView& positions, const std::optional<LearnedTable>& table);

}  // namespace hodometer::internal
