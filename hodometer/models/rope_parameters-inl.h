#pragma once

// Private: rope_theta, rope_scaling and rope_parameters in all their forms. Not installed.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hodometer/models/layer_kinds-inl.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

/// The rope block of a section: one object for all layers, or one for each kind of layer.
struct RopeBlock {
  std::optional<ConfigReader> flat;
  std::map<std::string, std::optional<ConfigReader>> by_kind;  ///< a null means no rotation

  bool per_kind() const { return !by_kind.empty(); }
};

/// Reads "rope_parameters" or "rope_scaling", whichever is there.
Result<RopeBlock> read_rope_block(const Part& part, const LayerKinds& kinds);

/// What a schedule needs beside its own keys.
struct RopeContext {
  const Part* part;
  std::optional<ConfigReader> block;  ///< of this kind of layer; absent: no rule
  std::optional<Sourced<int64_t>> max_position_embeddings;
  Sourced<double> fraction;
};

/// A schedule with what it says about lengths.
struct ReadSchedule {
  FrequencySchedule rule;
  std::vector<Setting> settings;
  std::optional<int64_t> trained_length;
  std::optional<int64_t> longest_input;
};

Result<ReadSchedule> read_schedule(const RopeContext& context);

/// The rope type of a block after aliases, "default" when it names none.
Result<Sourced<std::string>> read_rope_type(const Part& part, const ConfigReader& block);

}  // namespace hodometer
