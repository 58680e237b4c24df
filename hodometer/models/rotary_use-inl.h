#pragma once

// Private: one rotary use put together from base, slice and schedule. Not installed.

#include <optional>
#include <vector>

#include "hodometer/models/rope_parameters-inl.h"

namespace hodometer {

/// Which lanes of a head turn.
struct RotarySlice {
  Sourced<int64_t> head_dim;
  std::optional<Sourced<int64_t>> rotary_dim;  ///< absent: by the fraction that the file gives
  int64_t rotary_start = 0;
  PairLayout layout;
};

/// A rotary method with where its numbers came from.
struct ReadRotary {
  Rotary rotary;
  std::optional<ConfigReader> block;
  std::vector<Setting> settings;
  std::optional<int64_t> trained_length;
  std::optional<int64_t> longest_input;
};

/// Reads the schedule of a block and the lengths around it.
Result<ReadRotary> read_rotary(const Part& part, const std::optional<ConfigReader>& block,
                               const Sourced<double>& base, const RotarySlice& slice);

/// Makes it the method of a use: M-RoPE where the file or the family has sections.
Status set_rotary(const Part& part, ReadRotary rotary, PositionUse& use);

/// Ministral 3 and Mistral 4: a temperature on every layer, with its weight in the rope block.
Status add_temperature_from_zero(const std::optional<ConfigReader>& block, PositionUse& use);

}  // namespace hodometer
