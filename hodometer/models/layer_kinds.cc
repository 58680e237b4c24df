#include "hodometer/models/layer_kinds-inl.h"

#include <algorithm>

#include "hodometer/models/layer_lists-inl.h"

namespace hodometer {
namespace {

// More layers than any model has; a larger number is a slip and would only cost memory.
constexpr int64_t max_layers = 10000;

bool is_recurrence(std::string_view kind) {
  static constexpr std::array<std::string_view, 6> kinds = {
      "linear_attention", "conv", "mamba2", "ssm", "mlp", "moe"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

/// The sliding window, when the family has one and the file does not switch it off.
Result<std::optional<Sourced<int64_t>>> read_window(const Part& part) {
  if (part.family->window == Window::none) return std::optional<Sourced<int64_t>>();
  HODO_ASSIGN(const auto use, part.config.find<bool>("use_sliding_window"));
  const Family& family = *part.family;
  HODO_ASSIGN(auto size, part.config.find<int64_t>(family.window_key));
  const bool absent = !size && !part.config.is_null(family.window_key);
  if (absent && family.window_size > 0) {
    size = Sourced<int64_t>{family.window_size, Origin::assumed, part.customary()};
  }
  const bool on = use ? use->value : family.window == Window::from_file;
  if (!on) size.reset();
  if (size && size->value < 1) {
    // Qwen writes 0 for a window that is not used.
    if (size->value == 0) return std::optional<Sourced<int64_t>>();
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is {}: expected at least 1", size->source, size->value)};
  }
  return size;
}

/// Layers that slide from a number on: Qwen.
Result<std::optional<ListedKinds>> windowed_kinds(const Part& part, int64_t num_layers,
                                                  bool has_window) {
  HODO_ASSIGN(auto from, part.config.find<int64_t>("max_window_layers"));
  if (!has_window) return std::optional<ListedKinds>();
  if (!from && part.family->max_window_layers > 0) {
    from = Sourced<int64_t>{part.family->max_window_layers, Origin::assumed, part.customary()};
  }
  if (!from) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is missing: {} slides from that layer on",
                             part.config.at("max_window_layers"), part.family->model_type)};
  }
  ListedKinds list{{}, from->origin, from->source};
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    list.value.emplace_back(layer >= from->value ? "sliding_attention" : "full_attention");
  }
  return std::optional(std::move(list));
}

/// The kinds by the family's rule, when the file has no list. Nothing when all layers are alike.
Result<std::optional<ListedKinds>> kinds_by_rule(
    const Part& part, int64_t num_layers, bool has_window,
    const std::optional<Sourced<std::vector<int64_t>>>& rotating) {
  const Family& family = *part.family;
  if (family.rotates == Rotates::sliding_layers_if_window && !has_window) {
    part.config.mark_read(family.period_key);
    return std::optional<ListedKinds>();
  }
  switch (family.layers) {
    case LayerRule::uniform:
      break;
    case LayerRule::hybrid:
      return Error{ErrorKind::bad_input,
                   fmt::format("{} is missing: {} has attention in some layers only",
                               part.config.at("layer_types"), family.model_type)};
    case LayerRule::hybrid_else_full:
      part.config.warn(
          fmt::format("{} is missing: every layer is taken for attention, as in the published "
                      "code of {}",
                      part.config.at("layer_types"), family.model_type));
      break;
    case LayerRule::no_rope_layers: {
      ListedKinds list{{}, rotating->origin, rotating->source};
      for (const int64_t mark : rotating->value) {
        list.value.emplace_back(mark == 1 ? family.local_kind : family.full_kind);
      }
      return std::optional(std::move(list));
    }
    case LayerRule::window_from_layer:
      return windowed_kinds(part, num_layers, has_window);
    case LayerRule::last_of_n_full:
    case LayerRule::first_of_n_full:
    case LayerRule::last_layer_full: {
      HODO_ASSIGN(auto list, periodic_kinds(part, num_layers));
      return std::optional(std::move(list));
    }
  }
  return std::optional<ListedKinds>();
}

/// Gathers the layers of each kind. Marks can cut across the listed kinds: then the layers of one
/// kind that rotate are told from those that do not.
std::vector<LayerKind> gather(const ListedKinds& listed,
                              const std::optional<Sourced<std::vector<int64_t>>>& rotating) {
  std::vector<LayerKind> kinds;
  for (size_t layer = 0; layer < listed.value.size(); ++layer) {
    const std::string& name = listed.value[layer];
    const bool rotates = !rotating || rotating->value[layer] == 1;
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& other) {
      return other.name == name && other.rotates == rotates;
    });
    if (kind == kinds.end()) {
      kinds.push_back({});
      kind = std::prev(kinds.end());
      kind->name = name;
      kind->work = is_recurrence(name) ? LayerWork::recurrence : LayerWork::attention;
      kind->rotates = rotates;
      kind->why = {"layers", name, listed.origin, listed.source};
    }
    kind->layers.push_back(static_cast<int64_t>(layer));
  }
  return kinds;
}

/// What a kind's name says about its mask. A name that says nothing known is refused.
Status set_mask(const Part& part, const std::optional<Sourced<int64_t>>& window, LayerKind& kind) {
  if (kind.name == "sliding_attention") {
    kind.mask = MaskKind::sliding_window;
    kind.mask_size = window;
  } else if (kind.name == "chunked_attention") {
    kind.mask = MaskKind::chunked;
    HODO_ASSIGN(kind.mask_size, find_length(part.config, "attention_chunk_size"));
  } else if (kind.name == "cross_attention") {
    kind.rotates = false;
    kind.mask = MaskKind::bidirectional;
  } else if (kind.name != "full_attention" && kind.name != "indexed_attention" &&
             !kind.name.starts_with("hybrid") && kind.work == LayerWork::attention) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{}: layer type {} is not known for {}", kind.why.source,
                             describe(Json(kind.name)), part.family->model_type)};
  }
  return {};
}

void set_rotation(const Part& part, bool has_window, LayerKind& kind) {
  const bool full = kind.name == "full_attention";
  switch (part.family->rotates) {
    case Rotates::all:
    case Rotates::marked_layers:
    case Rotates::if_position_embedding_type_rope:
      break;
    case Rotates::sliding_layers:
      kind.rotates = !full;
      break;
    case Rotates::sliding_layers_if_window:
      kind.rotates = !full || !has_window;
      break;
  }
}

}  // namespace

Result<std::optional<Sourced<int64_t>>> read_layer_count(const Part& part, std::string_view key) {
  HODO_ASSIGN(auto count, part.config.find<int64_t>(key));
  if (count && (count->value < 1 || count->value > max_layers)) {
    return Error{ErrorKind::bad_input, fmt::format("{} is {}: expected 1 to {}", count->source,
                                                   count->value, max_layers)};
  }
  if (count && part.prefix.empty() && !part.model->num_layers) {
    part.model->num_layers = count->value;
  }
  return count;
}

void use_all_layers(const std::optional<Sourced<int64_t>>& count, PositionUse& use) {
  if (!count) return;
  for (int64_t layer = 0; layer < count->value; ++layer) use.layers.push_back(layer);
  use.settings.push_back(setting("layers", *count));
}

Result<LayerKinds> read_layer_kinds(const Part& part) {
  const Family& family = *part.family;
  LayerKinds result;
  HODO_ASSIGN(const auto counted, read_layer_count(part, "num_hidden_layers"));
  if (counted) result.num_layers = counted->value;
  HODO_ASSIGN(const auto window, read_window(part));
  HODO_ASSIGN(auto listed, listed_kinds(part, result.num_layers));
  if (listed && !result.num_layers) {
    result.num_layers = static_cast<int64_t>(listed->value.size());
  }
  const bool alike = family.layers == LayerRule::uniform ||
                     family.layers == LayerRule::hybrid_else_full ||
                     (family.layers == LayerRule::window_from_layer && !window);
  if (!alike && !result.num_layers) {
    HODO_RETURN_IF_ERROR(part.config.require<int64_t>(
        "num_hidden_layers", "layers differ, so their number has to be known"));
  }
  const int64_t num_layers = result.num_layers.value_or(0);
  std::optional<Sourced<std::vector<int64_t>>> rotating;
  if (family.layers == LayerRule::no_rope_layers) {
    HODO_ASSIGN(rotating, read_no_rope_layers(part, num_layers));
  }
  if (listed) {
    // The list says what these keys would.
    part.config.mark_read("max_window_layers");
    part.config.mark_read(family.period_key);
  } else {
    HODO_ASSIGN(listed, kinds_by_rule(part, num_layers, window.has_value(), rotating));
  }

  if (listed) {
    result.kinds = gather(*listed, rotating);
    for (LayerKind& kind : result.kinds) HODO_RETURN_IF_ERROR(set_mask(part, window, kind));
  } else {
    LayerKind all;
    all.name = "full_attention";
    for (int64_t layer = 0; layer < num_layers; ++layer) all.layers.push_back(layer);
    if (counted) all.why = setting("layers", *counted);
    if (window && family.layers == LayerRule::uniform) {
      all.mask = MaskKind::sliding_window;
      all.mask_size = window;
    }
    result.kinds.push_back(std::move(all));
  }
  for (LayerKind& kind : result.kinds) {
    if (family.mask == MaskKind::bidirectional && kind.mask == MaskKind::causal) {
      kind.mask = MaskKind::bidirectional;
    }
    set_rotation(part, window.has_value(), kind);
  }
  return result;
}

}  // namespace hodometer
