#include "hodometer/models/layer_lists-inl.h"

#include <algorithm>

namespace hodometer {
namespace {

Status check_one_per_layer(const std::string& source, size_t size,
                           std::optional<int64_t> num_layers) {
  if (!num_layers || static_cast<int64_t>(size) == *num_layers) return {};
  return Error{ErrorKind::bad_input, fmt::format("{} has {} entries: expected one per layer, {}",
                                                 source, size, *num_layers)};
}

/// A list with 0 or 1 per layer.
Status check_marks(const Sourced<std::vector<int64_t>>& marks) {
  for (const int64_t mark : marks.value) {
    if (mark == 0 || mark == 1) continue;
    return Error{ErrorKind::bad_input,
                 fmt::format("{} holds {}: expected 0 or 1", marks.source, mark)};
  }
  return {};
}

/// Families that mark their layers with 0 and 1.
struct MarkedKind {
  std::string_view key, ones, zeros;
};
constexpr std::array<MarkedKind, 2> marked_kinds = {
    {{"hybrid_layer_pattern", "sliding_attention", "full_attention"},  // MiMo
     {"attn_type_list", "full_attention", "linear_attention"}}};       // MiniMax

Result<std::optional<ListedKinds>> listed_by_marks(const Part& part,
                                                   std::optional<int64_t> num_layers) {
  for (const MarkedKind& marked : marked_kinds) {
    HODO_ASSIGN(const auto marks, part.config.find<std::vector<int64_t>>(marked.key));
    if (!marks) continue;
    HODO_RETURN_IF_ERROR(check_one_per_layer(marks->source, marks->value.size(), num_layers));
    HODO_RETURN_IF_ERROR(check_marks(*marks));
    ListedKinds list{{}, Origin::file, marks->source};
    for (const int64_t mark : marks->value) {
      list.value.emplace_back(mark == 1 ? marked.ones : marked.zeros);
    }
    return std::optional(std::move(list));
  }
  return std::optional<ListedKinds>();
}

/// Families that list the numbers of some layers.
struct NumberedKind {
  std::string_view key, listed, others;
};
constexpr std::array<NumberedKind, 3> numbered_kinds = {
    {{"full_attn_idxs", "full_attention", "conv"},                       // LFM2
     {"attn_layer_indices", "full_attention", "linear_attention"},       // Bamba
     {"cross_attention_layers", "cross_attention", "full_attention"}}};  // Llama 3.2 Vision

Result<std::optional<ListedKinds>> listed_by_number(const Part& part,
                                                    std::optional<int64_t> num_layers) {
  for (const NumberedKind& numbered : numbered_kinds) {
    HODO_ASSIGN(const auto found, part.config.find<std::vector<int64_t>>(numbered.key));
    if (!found) continue;
    if (!num_layers) {
      return part.config
          .require<int64_t>("num_hidden_layers",
                            fmt::format("{} names some of the layers", found->source))
          .error();
    }
    ListedKinds list{std::vector(static_cast<size_t>(*num_layers), std::string(numbered.others)),
                     Origin::file, found->source};
    for (const int64_t layer : found->value) {
      if (layer < 0 || layer >= *num_layers) {
        return Error{ErrorKind::bad_input, fmt::format("{} names layer {}: expected 0 to {}",
                                                       found->source, layer, *num_layers - 1)};
      }
      list.value[static_cast<size_t>(layer)] = numbered.listed;
    }
    return std::optional(std::move(list));
  }
  return std::optional<ListedKinds>();
}

/// The name that a kind has here, whatever a family calls it.
std::string canonical_kind(const Part& part, const std::string& kind) {
  if (kind == "attention") return std::string(part.family->full_kind);
  if (kind == "mamba" || kind == "recurrent") return "linear_attention";
  return kind;
}

/// Periods are numbers, or letters in EXAONE: "LLLG" is a period of four.
Result<std::optional<Sourced<int64_t>>> read_period(const Part& part) {
  const std::string_view key = part.family->period_key;
  const auto found = part.config.object().find(std::string(key));
  if (found == part.config.object().end() || !found->is_string()) {
    return part.config.find<int64_t>(key);
  }
  HODO_ASSIGN(const auto text, part.config.require<std::string>(key, "layers differ by it"));
  const bool regular = !text.value.empty() && text.value.back() == 'G' &&
                       text.value.find_first_not_of('L') == text.value.size() - 1;
  if (!regular) {
    return Error{
        ErrorKind::bad_input,
        fmt::format("{} is {}: expected a number, or L (local) repeated and one G (global)",
                    text.source, describe(*found))};
  }
  return std::optional(
      Sourced<int64_t>{static_cast<int64_t>(text.value.size()), Origin::file, text.source});
}

}  // namespace

Result<std::optional<ListedKinds>> listed_kinds(const Part& part,
                                                std::optional<int64_t> num_layers) {
  for (const std::string_view key : {"layer_types", "layers_block_type"}) {
    HODO_ASSIGN(auto list, part.config.find<std::vector<std::string>>(key));
    if (!list) continue;
    HODO_RETURN_IF_ERROR(check_one_per_layer(list->source, list->value.size(), num_layers));
    for (std::string& kind : list->value) kind = canonical_kind(part, kind);
    return list;
  }
  HODO_ASSIGN(const auto blocks, part.config.find<std::vector<std::string>>("block_types"));
  if (blocks && !blocks->value.empty() && num_layers) {
    // RecurrentGemma: a list that repeats.
    ListedKinds list{{}, Origin::file, blocks->source};
    for (size_t layer = 0; layer < static_cast<size_t>(*num_layers); ++layer) {
      list.value.push_back(canonical_kind(part, blocks->value[layer % blocks->value.size()]));
    }
    return std::optional(std::move(list));
  }
  HODO_ASSIGN(auto marked, listed_by_marks(part, num_layers));
  if (marked) return marked;
  return listed_by_number(part, num_layers);
}

Result<Sourced<std::vector<int64_t>>> read_no_rope_layers(const Part& part, int64_t num_layers) {
  HODO_ASSIGN(const auto listed, part.config.find<std::vector<int64_t>>("no_rope_layers"));
  HODO_ASSIGN(const auto interval,
              part.config.find_or<int64_t>("no_rope_layer_interval", part.family->period,
                                           part.customary()));
  // An empty list counts as absent, in Llama 4's code.
  if (listed && !listed->value.empty()) {
    HODO_RETURN_IF_ERROR(check_one_per_layer(listed->source, listed->value.size(), num_layers));
    HODO_RETURN_IF_ERROR(check_marks(*listed));
    return *listed;
  }
  if (interval.value < 1) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is {}: expected at least 1", interval.source, interval.value)};
  }
  Sourced<std::vector<int64_t>> marks{{}, interval.origin, interval.source};
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    marks.value.push_back((layer + 1) % interval.value != 0 ? 1 : 0);
  }
  return marks;
}

Result<ListedKinds> periodic_kinds(const Part& part, int64_t num_layers) {
  const Family& family = *part.family;
  HODO_ASSIGN(auto period, read_period(part));
  if (!period) period = Sourced<int64_t>{family.period, Origin::assumed, part.customary()};
  if (period->value < 1) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is {}: expected at least 1", period->source, period->value)};
  }
  ListedKinds list{
      {}, period->origin, fmt::format("one in {} is full: {}", period->value, period->source)};
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    const bool full = family.layers == LayerRule::first_of_n_full
                          ? layer % period->value == 0
                          : (layer + 1) % period->value == 0;
    const bool last = family.layers == LayerRule::last_layer_full && layer + 1 == num_layers;
    list.value.emplace_back(full || last ? family.full_kind : family.local_kind);
  }
  return list;
}

}  // namespace hodometer
