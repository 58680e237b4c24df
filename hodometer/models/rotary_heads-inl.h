#pragma once

// Private: the width of heads and of the slice that turns. Not installed.

#include <optional>

#include "hodometer/models/families-inl.h"

namespace hodometer {

/// The width of a head: an explicit key, else hidden_size / num_attention_heads rounded down, as
/// Hugging Face computes it.
Result<Sourced<int64_t>> read_head_dim(const Part& part);

/// width / heads, rounded down with a warning. Errors: less than a lane per head.
Result<Sourced<int64_t>> head_dim_of(const ConfigReader& config, const Sourced<int64_t>& width,
                                     const Sourced<int64_t>& heads);

/// The share of a head that turns, from a rope block first.
Result<Sourced<double>> read_fraction(const Part& part, const std::optional<ConfigReader>& block);

/// The lanes that turn: rotary_dim, or int(head_dim * fraction); both have to agree. A part of a
/// head in a file of a family whose code does not read the key is an error: that code would turn
/// the whole head, and other engines a part of it.
Result<Sourced<int64_t>> read_rotary_dim(const Part& part, const Sourced<int64_t>& head_dim,
                                         const Sourced<double>& fraction, FractionKey key);

/// The base: of the block, else of the section, else the family's.
Result<Sourced<double>> read_base(const Part& part, const std::optional<ConfigReader>& block,
                                  std::string_view name, double customary);

}  // namespace hodometer
