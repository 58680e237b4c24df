#pragma once

// Private: the lists and rules that tell a decoder's layers apart. Not installed.

#include <optional>
#include <string>
#include <vector>

#include "hodometer/models/families-inl.h"

namespace hodometer {

/// The kind of every layer in order, with what told it.
using ListedKinds = Sourced<std::vector<std::string>>;

/// The file's own list, in whichever form the family writes it; nothing when it has none.
Result<std::optional<ListedKinds>> listed_kinds(const Part& part,
                                                std::optional<int64_t> num_layers);

/// 1 for every layer that rotates and 0 for the others: no_rope_layers, or every period-th.
Result<Sourced<std::vector<int64_t>>> read_no_rope_layers(const Part& part, int64_t num_layers);

/// Every period-th layer full and the others local, or the other way round.
Result<ListedKinds> periodic_kinds(const Part& part, int64_t num_layers);

}  // namespace hodometer
