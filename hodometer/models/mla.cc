#include <algorithm>

#include "hodometer/models/families-inl.h"
#include "hodometer/models/layer_kinds-inl.h"
#include "hodometer/models/rotary_heads-inl.h"
#include "hodometer/models/rotary_use-inl.h"

namespace hodometer {
namespace {

struct MlaWidths {
  Sourced<int64_t> nope;
  Sourced<int64_t> rope;

  Sourced<int64_t> head_dim() const {
    return {nope.value + rope.value, rope.origin, fmt::format("{} + {}", nope.source, rope.source)};
  }
};

Result<Sourced<int64_t>> read_width(const Part& part, std::string_view key, int64_t customary) {
  HODO_ASSIGN(auto found, part.config.find<int64_t>(key));
  if (!found && customary == 0) {
    return part.config.require<int64_t>(key, "the rotated slice of a head has that width");
  }
  if (!found) found = Sourced<int64_t>{customary, Origin::assumed, part.customary()};
  if (found->value < 0 || found->value > max_head_dim) {
    return Error{ErrorKind::bad_input, fmt::format("{} is {}: expected 0 to {}", found->source,
                                                   found->value, max_head_dim)};
  }
  return *found;
}

/// Most MLA families have a switch for the pairing whose absence means interleaved.
Result<PairLayout> read_layout(const Part& part, std::string& reason) {
  reason = part.fixed();
  HODO_ASSIGN(const auto interleave, part.config.find<bool>("rope_interleave"));
  if (!interleave) return *part.family->layout;
  reason = interleave->source;
  return interleave->value ? PairLayout::interleaved : PairLayout::half_split;
}

/// The factor on every score beside the magnitude of cos and sin.
Status add_softmax_rule(const Part& part, const ReadRotary& rotary, PositionUse& use) {
  const auto* yarn = std::get_if<YarnSchedule>(&rotary.rotary.schedule);
  if (part.family->score == ScoreRule::none || yarn == nullptr) return {};
  if (yarn->mscale_all_dim.value_or(0) == 0) return {};
  use.spec.logit_scale.push_back(YarnSoftmaxScale{yarn->factor, *yarn->mscale_all_dim});
  use.settings.push_back({"logit_scale", "yarn_softmax", Origin::architecture, part.fixed()});
  return {};
}

/// DeepSeek's sparse attention picks keys with small heads of its own, which rotate their first
/// lanes and pair them in their own way.
Status add_indexer(const Part& part, const std::optional<ConfigReader>& block,
                   const Sourced<double>& base, const Sourced<int64_t>& rope,
                   std::vector<int64_t> layers) {
  if (!part.family->indexer) return {};
  HODO_ASSIGN(const auto head_dim,
              part.config.find_or<int64_t>("index_head_dim", 128, part.customary()));
  HODO_ASSIGN(ReadRotary rotary,
              read_rotary(part, block, base, {head_dim, rope, 0, *part.family->indexer}));
  PositionUse use;
  use.name = part.use_name("indexer");
  use.layers = std::move(layers);
  HODO_RETURN_IF_ERROR(set_rotary(part, std::move(rotary), use));
  return add_use(part, std::move(use));
}

}  // namespace

Status read_mla(const Part& part) {
  const Family& family = *part.family;
  HODO_ASSIGN(const LayerKinds kinds, read_layer_kinds(part));
  HODO_ASSIGN(const RopeBlock blocks, read_rope_block(part, kinds));
  if (blocks.per_kind()) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{}: a rope block per layer type is not known for {}",
                             part.config.at("rope_parameters"), family.model_type)};
  }
  HODO_ASSIGN(const auto nope, read_width(part, "qk_nope_head_dim", family.nope_dim));
  HODO_ASSIGN(const auto rope, read_width(part, "qk_rope_head_dim", family.rope_dim));
  const MlaWidths widths{nope, rope};
  // Given as well by some files, as the rotated slice or as the whole head; the slice decides.
  part.config.mark_read("head_dim");
  HODO_ASSIGN(const auto base, read_base(part, blocks.flat, "base", family.base));
  std::string reason;
  HODO_ASSIGN(const PairLayout layout, read_layout(part, reason));

  PositionUse use;
  use.name = part.use_name("attention");
  for (const LayerKind& kind : kinds.kinds) {
    if (kind.work == LayerWork::recurrence) continue;
    if (!kind.why.name.empty()) use.settings.push_back(kind.why);
    use.layers.insert(use.layers.end(), kind.layers.begin(), kind.layers.end());
  }
  std::sort(use.layers.begin(), use.layers.end());
  if (family.score == ScoreRule::yarn_softmax_and_temperature) {
    HODO_RETURN_IF_ERROR(add_temperature_from_zero(blocks.flat, use));
  }
  const std::vector<int64_t> layers = use.layers;
  HODO_ASSIGN(ReadRotary rotary,
              read_rotary(part, blocks.flat, base, {widths.head_dim(), rope, nope.value, layout}));
  HODO_RETURN_IF_ERROR(add_softmax_rule(part, rotary, use));
  HODO_RETURN_IF_ERROR(set_rotary(part, std::move(rotary), use));
  use.layout_reason = reason;
  HODO_RETURN_IF_ERROR(add_use(part, std::move(use)));
  return add_indexer(part, blocks.flat, base, rope, layers);
}

Status read_deepseek_v4(const Part& part) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(const auto layers,
              config.require<int64_t>("num_hidden_layers", "layers differ in their base"));
  HODO_ASSIGN(const auto ratios, config.require<std::vector<int64_t>>(
                                     "compress_ratios", "it tells which layers compress"));
  if (layers.value < 1 || layers.value > static_cast<int64_t>(ratios.value.size())) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} has {} entries: expected one per layer, {}", ratios.source,
                             ratios.value.size(), layers.value)};
  }
  if (part.prefix.empty()) part.model->num_layers = layers.value;
  HODO_ASSIGN(const auto head_dim, config.find_or<int64_t>("head_dim", 512, part.customary()));
  HODO_ASSIGN(const auto rope, read_width(part, "qk_rope_head_dim", 64));
  HODO_ASSIGN(const RopeBlock blocks, read_rope_block(part, {}));
  HODO_ASSIGN(const auto main_base, read_base(part, std::nullopt, "base", 1e4));
  HODO_ASSIGN(const auto compress_base,
              config.find_or<double>("compress_rope_theta", 1.6e5, part.customary()));
  HODO_ASSIGN(const auto window, find_length(config, "sliding_window"));
  if (blocks.flat) {
    HODO_ASSIGN(const auto inner, blocks.flat->find<double>("base"));
    if (inner && inner->value != main_base.value) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} is {}, but {} is {}: they must agree", inner->source,
                               inner->value, main_base.source, main_base.value)};
    }
  }

  PositionUse sliding, compressed, indexer;
  for (size_t layer = 0; layer < static_cast<size_t>(layers.value); ++layer) {
    const int64_t ratio = ratios.value[layer];
    (ratio == 0 ? sliding : compressed).layers.push_back(static_cast<int64_t>(layer));
    // A sparse selection exists where the compression is fine enough to need one.
    if (ratio == 4) indexer.layers.push_back(static_cast<int64_t>(layer));
  }
  const int64_t start = head_dim.value - rope.value;
  const Setting why{"layers", "", Origin::file, ratios.source};
  if (!sliding.layers.empty()) {
    sliding.name = part.use_name("sliding_attention");
    sliding.mask = MaskKind::sliding_window;
    if (window) sliding.mask_size = window->value;
    sliding.settings.push_back(why);
    HODO_ASSIGN(ReadRotary rotary, read_rotary(part, std::nullopt, main_base,
                                               {head_dim, rope, start, *part.family->layout}));
    HODO_RETURN_IF_ERROR(set_rotary(part, std::move(rotary), sliding));
    HODO_RETURN_IF_ERROR(add_use(part, std::move(sliding)));
  }
  const auto add_compressed = [&](std::string_view name, PositionUse use,
                                  const Sourced<int64_t>& width) -> Status {
    if (use.layers.empty()) return {};
    use.name = part.use_name(name);
    use.settings.push_back(why);
    std::optional<ConfigReader> block = blocks.flat;
    HODO_ASSIGN(ReadRotary rotary,
                read_rotary(part, block, compress_base,
                            {width, rope, width.value - rope.value, *part.family->layout}));
    if (auto* yarn = std::get_if<YarnSchedule>(&rotary.rotary.schedule)) {
      yarn->attention_factor = 1;
      rotary.settings.push_back(
          {"schedule.attention_factor", "1", Origin::architecture, part.fixed()});
    }
    HODO_RETURN_IF_ERROR(set_rotary(part, std::move(rotary), use));
    return add_use(part, std::move(use));
  };
  HODO_RETURN_IF_ERROR(add_compressed("compressed_attention", std::move(compressed), head_dim));
  HODO_ASSIGN(const auto index_dim,
              config.find_or<int64_t>("index_head_dim", 128, part.customary()));
  return add_compressed("indexer", std::move(indexer), index_dim);
}

}  // namespace hodometer
