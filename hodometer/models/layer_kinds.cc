#include "hodometer/models/layer_kinds-inl.h"

#include <algorithm>

namespace hodometer {
namespace {

// More layers than any model has; a larger number is a slip and would only cost memory.
constexpr int64_t max_layers = 10000;

bool is_recurrence(std::string_view kind) {
  static constexpr std::array<std::string_view, 8> kinds = {
      "linear_attention", "conv", "mamba", "mamba2", "recurrent", "ssm", "mlp", "moe"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

LayerKind& kind_named(LayerKinds& kinds, const std::string& name) {
  for (LayerKind& kind : kinds.kinds) {
    if (kind.name == name) return kind;
  }
  kinds.kinds.push_back({});
  kinds.kinds.back().name = name;
  if (is_recurrence(name)) kinds.kinds.back().work = LayerWork::recurrence;
  return kinds.kinds.back();
}

Result<std::vector<std::string>> check_layer_list(const ConfigReader& config, std::string_view key,
                                                  std::vector<std::string> list,
                                                  std::optional<int64_t> num_layers) {
  if (num_layers && static_cast<int64_t>(list.size()) != *num_layers) {
    return Error{ErrorKind::bad_input, fmt::format("{} has {} entries: expected one per layer, {}",
                                                   config.at(key), list.size(), *num_layers)};
  }
  return list;
}

/// Lists of layer numbers: the layers that attend in LFM2 and Bamba, the layers that look at the
/// image in Mllama.
struct NumberedKind {
  std::string_view key, listed, others;
};
constexpr std::array<NumberedKind, 3> numbered_kinds = {
    {{"full_attn_idxs", "full_attention", "conv"},
     {"attn_layer_indices", "full_attention", "mamba"},
     {"cross_attention_layers", "cross_attention", "full_attention"}}};

Result<std::optional<std::vector<std::string>>> listed_by_number(const Part& part,
                                                                 std::optional<int64_t> num_layers,
                                                                 std::string& source) {
  for (const NumberedKind& numbered : numbered_kinds) {
    HODO_ASSIGN(const auto found, part.config.find<std::vector<int64_t>>(numbered.key));
    if (!found || !num_layers) continue;
    std::vector<std::string> list(static_cast<size_t>(*num_layers), std::string(numbered.others));
    for (const int64_t layer : found->value) {
      if (layer < 0 || layer >= *num_layers) {
        return Error{ErrorKind::bad_input, fmt::format("{} names layer {}: expected 0 to {}",
                                                       found->source, layer, *num_layers - 1)};
      }
      list[static_cast<size_t>(layer)] = numbered.listed;
    }
    source = found->source;
    return std::optional(std::move(list));
  }
  return std::optional<std::vector<std::string>>();
}

/// The kind of every layer from the file's own list, if there is one.
Result<std::optional<std::vector<std::string>>> listed_kinds(const Part& part,
                                                             std::optional<int64_t> num_layers,
                                                             std::string& source) {
  const ConfigReader& config = part.config;
  for (const std::string_view key : {"layer_types", "layers_block_type"}) {
    HODO_ASSIGN(const auto found, config.find<std::vector<std::string>>(key));
    if (!found) continue;
    source = found->source;
    HODO_ASSIGN(auto list, check_layer_list(config, key, found->value, num_layers));
    for (std::string& kind : list) {
      if (kind == "attention") kind = "full_attention";
    }
    return std::optional(std::move(list));
  }
  HODO_ASSIGN(const auto marks, part.config.find<std::vector<int64_t>>("attn_type_list"));
  if (marks) {
    // MiniMax: 1 attends to everything, 0 is linear.
    source = marks->source;
    std::vector<std::string> list;
    for (const int64_t mark : marks->value) {
      list.emplace_back(mark == 1 ? "full_attention" : "linear_attention");
    }
    HODO_ASSIGN(list, check_layer_list(part.config, "attn_type_list", std::move(list), num_layers));
    return std::optional(std::move(list));
  }
  return listed_by_number(part, num_layers, source);
}

/// Marks of the layers that rotate: 1 or 0 per layer.
Result<std::vector<int64_t>> read_no_rope_layers(const Part& part, int64_t num_layers,
                                                 std::string& source) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(const auto listed, config.find<std::vector<int64_t>>("no_rope_layers"));
  HODO_ASSIGN(const auto interval, config.find_or<int64_t>("no_rope_layer_interval",
                                                           part.family->period, part.customary()));
  if (listed && !listed->value.empty()) {
    source = listed->source;
    if (static_cast<int64_t>(listed->value.size()) != num_layers) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} has {} entries: expected one per layer, {}", listed->source,
                               listed->value.size(), num_layers)};
    }
    for (const int64_t mark : listed->value) {
      if (mark == 0 || mark == 1) continue;
      return Error{
          ErrorKind::bad_input,
          fmt::format("{} holds {}: expected 1 (the layer rotates) or 0", listed->source, mark)};
    }
    return listed->value;
  }
  if (interval.value < 1) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is {}: expected at least 1", config.at("no_rope_layer_interval"),
                             interval.value)};
  }
  source = interval.source;
  std::vector<int64_t> marks;
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    marks.push_back((layer + 1) % interval.value != 0 ? 1 : 0);
  }
  return marks;
}

Result<std::vector<std::string>> periodic_kinds(const Part& part, int64_t num_layers,
                                                std::string& source) {
  const Family& family = *part.family;
  std::optional<Sourced<int64_t>> period;
  // EXAONE writes the pattern as letters as well: "LLLG" is a period of four.
  const std::string letters_key(family.period_key);
  const auto letters = part.config.object().find(letters_key);
  if (letters != part.config.object().end() && letters->is_string()) {
    HODO_ASSIGN(const auto text, part.config.require<std::string>(family.period_key, ""));
    const bool regular = !text.value.empty() && text.value.back() == 'G' &&
                         text.value.find_first_not_of('L') == text.value.size() - 1;
    if (!regular) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} is \"{}\": expected a number, or L (local) repeated and one G "
                               "(global)",
                               text.source, text.value)};
    }
    period = Sourced<int64_t>{static_cast<int64_t>(text.value.size()), Origin::file, text.source};
  } else {
    HODO_ASSIGN(period, part.config.find<int64_t>(family.period_key));
  }
  if (!period) period = Sourced<int64_t>{family.period, Origin::assumed, part.customary()};
  if (period->value < 1) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is {}: expected at least 1", period->source, period->value)};
  }
  source = fmt::format("every {}th layer is full: {}", period->value, period->source);
  std::vector<std::string> list;
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    const bool full = family.layers == LayerRule::first_of_n_full
                          ? layer % period->value == 0
                          : (layer + 1) % period->value == 0;
    const bool last = family.layers == LayerRule::last_layer_full && layer + 1 == num_layers;
    list.emplace_back(full || last ? "full_attention" : family.local_kind);
  }
  return list;
}

struct ReadWindow {
  std::optional<Sourced<int64_t>> size;
};

Result<ReadWindow> read_window(const Part& part) {
  HODO_ASSIGN(const auto use, part.config.find<bool>("use_sliding_window"));
  HODO_ASSIGN(auto size, part.config.find<int64_t>("sliding_window"));
  const bool on = use ? use->value : part.family->window == Window::from_file;
  if (!on) size.reset();
  if (size && size->value < 1) {
    // Qwen writes 0 for a window that is not used.
    if (size->value == 0) return ReadWindow{};
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is {}: expected at least 1", size->source, size->value)};
  }
  return ReadWindow{size};
}

}  // namespace

Result<LayerKinds> read_layer_kinds(const Part& part) {
  const Family& family = *part.family;
  const ConfigReader& config = part.config;
  LayerKinds result;
  HODO_ASSIGN(const auto counted, config.find<int64_t>("num_hidden_layers"));
  if (counted) {
    if (counted->value < 0 || counted->value > max_layers) {
      return Error{ErrorKind::bad_input, fmt::format("{} is {}: expected 0 to {}", counted->source,
                                                     counted->value, max_layers)};
    }
    result.num_layers = counted->value;
  }
  ReadWindow window;
  if (family.window != Window::none) {
    HODO_ASSIGN(window, read_window(part));
  }
  std::string source;
  HODO_ASSIGN(auto listed, listed_kinds(part, result.num_layers, source));
  if (listed && !result.num_layers) result.num_layers = static_cast<int64_t>(listed->size());

  const bool needs_count = family.layers != LayerRule::uniform || listed;
  if (needs_count && !result.num_layers) {
    HODO_RETURN_IF_ERROR(config.require<int64_t>("num_hidden_layers",
                                                 "layers differ, so their number has to be known"));
  }
  const int64_t num_layers = result.num_layers.value_or(0);

  std::vector<int64_t> marks;
  std::string marks_source;
  if (family.layers == LayerRule::no_rope_layers) {
    HODO_ASSIGN(marks, read_no_rope_layers(part, num_layers, marks_source));
  }
  if (!listed) {
    switch (family.layers) {
      case LayerRule::uniform:
        break;
      case LayerRule::hybrid:
        return Error{ErrorKind::bad_input,
                     fmt::format("{} is missing: {} has attention in some layers only",
                                 config.at("layer_types"), family.model_type)};
      case LayerRule::hybrid_else_full:
        config.warn(fmt::format("{} is missing: every layer is taken for attention, as in the "
                                "published code of {}",
                                config.at("layer_types"), family.model_type));
        break;
      case LayerRule::no_rope_layers:
        source = marks_source;
        listed.emplace();
        for (const int64_t mark : marks) {
          listed->push_back(mark == 1 ? std::string(family.local_kind) : "full_attention");
        }
        break;
      case LayerRule::window_from_layer: {
        HODO_ASSIGN(const auto from, config.find<int64_t>("max_window_layers"));
        if (!window.size) break;
        if (!from) {
          return Error{ErrorKind::bad_input,
                       fmt::format("{} is missing: {} slides from that layer on",
                                   config.at("max_window_layers"), family.model_type)};
        }
        source = from->source;
        listed.emplace();
        for (int64_t layer = 0; layer < num_layers; ++layer) {
          listed->emplace_back(layer >= from->value ? "sliding_attention" : "full_attention");
        }
        break;
      }
      case LayerRule::last_of_n_full:
      case LayerRule::first_of_n_full:
      case LayerRule::last_layer_full: {
        HODO_ASSIGN(listed, periodic_kinds(part, num_layers, source));
        break;
      }
    }
  } else {
    for (const std::string_view key : {"max_window_layers", "sliding_window_pattern",
                                       "no_rope_layer_interval", "global_attn_every_n_layers"}) {
      config.mark_read(key);
    }
    config.mark_read(family.period_key);
  }

  if (!listed) {
    LayerKind all;
    all.name = "full_attention";
    for (int64_t layer = 0; layer < num_layers; ++layer) all.layers.push_back(layer);
    if (window.size && family.layers == LayerRule::uniform) {
      all.mask = MaskKind::sliding_window;
      all.mask_size = window.size;
    }
    result.kinds.push_back(std::move(all));
  } else {
    for (int64_t layer = 0; layer < num_layers; ++layer) {
      std::string name = (*listed)[static_cast<size_t>(layer)];
      const bool rotates = marks.empty() || marks[static_cast<size_t>(layer)] == 1;
      // Marks can cut across the listed types; then the kinds are told apart by name too.
      if (!rotates) name += ".nope";
      LayerKind& kind = kind_named(result, name);
      kind.rotates = rotates;
      kind.layers.push_back(layer);
    }
    for (LayerKind& kind : result.kinds) {
      if (kind.name.ends_with(".nope")) kind.name.resize(kind.name.size() - 5);
      kind.why = {"layers", kind.name, source.empty() ? Origin::assumed : Origin::file, source};
      if (kind.name == "sliding_attention") {
        kind.mask = MaskKind::sliding_window;
        kind.mask_size = window.size;
      } else if (kind.name == "chunked_attention") {
        kind.mask = MaskKind::chunked;
        HODO_ASSIGN(kind.mask_size, config.find<int64_t>("attention_chunk_size"));
      } else if (kind.name == "cross_attention") {
        kind.rotates = false;
        kind.mask = MaskKind::bidirectional;
      } else if (kind.name != "full_attention" && kind.work == LayerWork::attention &&
                 !kind.name.starts_with("hybrid") && kind.name != "indexed_attention") {
        return Error{ErrorKind::unsupported, fmt::format("layer type \"{}\" ({}): not known for {}",
                                                         kind.name, source, family.model_type)};
      }
    }
  }
  for (LayerKind& kind : result.kinds) {
    const bool full = kind.name == "full_attention";
    if (family.mask == MaskKind::bidirectional && kind.mask == MaskKind::causal) {
      kind.mask = MaskKind::bidirectional;
    }
    switch (family.rotates) {
      case Rotates::all:
      case Rotates::marked_layers:
      case Rotates::if_position_embedding_type_rope:
        break;
      case Rotates::sliding_layers:
        kind.rotates = !full;
        break;
      case Rotates::sliding_layers_if_window:
        kind.rotates = !full || !window.size;
        break;
      case Rotates::none:
        kind.rotates = false;
        break;
    }
  }
  return result;
}

}  // namespace hodometer
