#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/methods/position_spec.h"

namespace hodometer {

/// Where a value came from.
enum class Origin : uint8_t {
  file,          ///< a key of the file
  architecture,  ///< the table of model families: the model's published code has it fixed
  assumed,       ///< the file does not say and the family has a customary value
};
constexpr auto enum_names(Origin) {
  return std::array<std::pair<Origin, std::string_view>, 3>{{{Origin::file, "file"},
                                                             {Origin::architecture, "architecture"},
                                                             {Origin::assumed, "assumed"}}};
}

/// One value of a use, with where it came from.
struct Setting {
  std::string name;   ///< the member of the spec, e.g. "base" or "schedule.factor"
  std::string value;  ///< as text, e.g. "500000"
  Origin origin;
  std::string source;  ///< the key's path ("text_config.rope_theta"), or why it is known
};

/// Which keys a query may see, as far as it concerns positions.
enum class MaskKind : uint8_t { causal, bidirectional, sliding_window, chunked };
constexpr auto enum_names(MaskKind) {
  return std::array<std::pair<MaskKind, std::string_view>, 4>{
      {{MaskKind::causal, "causal"},
       {MaskKind::bidirectional, "bidirectional"},
       {MaskKind::sliding_window, "sliding_window"},
       {MaskKind::chunked, "chunked"}}};
}

/// One position method of a model and where the model uses it: a kind of layer, an indexer, a
/// vision tower, an encoder.
struct PositionUse {
  std::string name;  ///< e.g. "attention", "full_attention", "vision", "indexer"
  PositionSpec spec;
  std::vector<int64_t> layers;  ///< the layers that use it; empty when it is not per layer
  MaskKind mask = MaskKind::causal;
  std::optional<int64_t> mask_size;       ///< of a sliding window or a chunk, in positions
  std::optional<int64_t> trained_length;  ///< positions seen before any extension
  std::optional<int64_t> longest_input;   ///< positions the file declares legal
  std::string layout_reason;              ///< why the pair layout is known; empty without pairs
  std::vector<Setting> settings;
};

/// What a model file says about order. Never guessed: what no key and no published code fixes is
/// an error, and what is customary is marked as assumed.
struct ModelPositions {
  std::string model_type;
  std::optional<int64_t> num_layers;
  std::vector<PositionUse> uses;
  std::vector<std::string> warnings;
};

}  // namespace hodometer
