#pragma once

// Private: which kinds of layer a decoder has. Not installed.

#include <optional>
#include <string>
#include <vector>

#include "hodometer/models/families-inl.h"

namespace hodometer {

/// What a kind of layer does with the input, as far as positions go.
enum class LayerWork : uint8_t { attention, recurrence };

/// The layers of one kind.
struct LayerKind {
  std::string name;  ///< Hugging Face's: "full_attention", "sliding_attention", ...
  LayerWork work = LayerWork::attention;
  bool rotates = true;
  std::vector<int64_t> layers;
  MaskKind mask = MaskKind::causal;
  std::optional<Sourced<int64_t>> mask_size;
  Setting why;  ///< what tells the kinds apart
};

/// The kinds in the order in which they first occur. `num_layers` is absent when the file does not
/// say and the layers are all alike.
struct LayerKinds {
  std::vector<LayerKind> kinds;
  std::optional<int64_t> num_layers;
};

Result<LayerKinds> read_layer_kinds(const Part& part);

}  // namespace hodometer
