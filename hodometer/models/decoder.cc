#include <algorithm>

#include "hodometer/models/families-inl.h"
#include "hodometer/models/layer_kinds-inl.h"
#include "hodometer/models/rope_parameters-inl.h"
#include "hodometer/models/rotary_heads-inl.h"
#include "hodometer/models/rotary_use-inl.h"

namespace hodometer {
namespace {

/// Gemma 4 has wider heads in its full layers.
Result<Sourced<int64_t>> head_dim_of_kind(const Part& part, const LayerKind& kind) {
  HODO_ASSIGN(const auto global, part.config.find<int64_t>("global_head_dim"));
  if (kind.name == "full_attention") {
    if (global) return *global;
    if (part.family->full_head_dim > 0) {
      return Sourced<int64_t>{part.family->full_head_dim, Origin::assumed, part.customary()};
    }
  }
  return read_head_dim(part);
}

std::optional<ConfigReader> block_of_kind(const RopeBlock& blocks, const LayerKind& kind,
                                          const Family& family) {
  if (blocks.per_kind()) {
    const auto found = blocks.by_kind.find(kind.name);
    return found == blocks.by_kind.end() ? std::nullopt : found->second;
  }
  const bool applies = family.scaling == ScalingScope::all_layers || kind.name == "full_attention";
  return applies ? blocks.flat : std::nullopt;
}

Result<ReadRotary> read_kind(const Part& part, const LayerKind& kind, const RopeBlock& blocks) {
  const Family& family = *part.family;
  const auto block = block_of_kind(blocks, kind, family);
  if (blocks.per_kind() && !block) {
    return Error{
        ErrorKind::bad_input,
        fmt::format("{} has layers of type {}, but the rope block has no member for it",
                    part.config.path().empty() ? "the model" : part.config.path(), kind.name)};
  }
  HODO_ASSIGN(const auto head_dim, head_dim_of_kind(part, kind));
  const bool local = kind.name == "sliding_attention" && family.local_base > 0;
  // A flat block gives the base of the full layers; sliding ones have a key of their own.
  const bool own_base = local && !blocks.per_kind();
  HODO_ASSIGN(const auto base,
              read_base(part, own_base ? std::nullopt : block, own_base ? "local_base" : "base",
                        local ? family.local_base : family.base));
  if (own_base && block) block->mark_read("base");
  return read_rotary(part, block, base, {head_dim, std::nullopt, 0, *family.layout});
}

/// Llama 4: a temperature on the layers without rotation.
Status add_temperature_on_nope(const Part& part, PositionUse& use) {
  const ConfigReader& config = part.config;
  // Published files write this switch as true, and older ones as the number 4.
  const auto tuning = config.object().find("attn_temperature_tuning");
  bool on = true;
  config.mark_read("attn_temperature_tuning");
  if (tuning != config.object().end()) {
    if (tuning->is_boolean()) {
      on = tuning->get<bool>();
    } else if (tuning->is_number()) {
      on = tuning->get<double>() != 0;
    } else {
      return json_internal::wrong_type(config.at("attn_temperature_tuning"), "true or false",
                                       *tuning);
    }
  }
  HODO_ASSIGN(const auto beta, config.find_or<double>("attn_scale", 0.1, part.customary()));
  HODO_ASSIGN(const auto floor_scale,
              config.find_or<double>("floor_scale", 8192, part.customary()));
  if (!on) return {};
  use.spec.logit_scale.push_back(TemperatureScale{beta.value, floor_scale.value, 1});
  use.settings.push_back(setting("logit_scale.beta", beta));
  use.settings.push_back(setting("logit_scale.floor_scale", floor_scale));
  return {};
}

std::string label(const LayerKinds& kinds, const LayerKind& kind) {
  if (kinds.kinds.size() == 1 && kind.name == "full_attention") return "attention";
  const auto same = std::count_if(kinds.kinds.begin(), kinds.kinds.end(),
                                  [&](const LayerKind& other) { return other.name == kind.name; });
  return same > 1 && !kind.rotates ? kind.name + ".nope" : kind.name;
}

Status check_rotation_switch(const Part& part, LayerKinds& kinds) {
  if (part.family->rotates != Rotates::if_position_embedding_type_rope) return {};
  HODO_ASSIGN(const auto type, part.config.find<std::string>("position_embedding_type"));
  for (LayerKind& kind : kinds.kinds) kind.rotates = type && type->value == "rope";
  return {};
}

/// Training codes write their pairing into a file that the family's own code pairs in one way; a
/// file that says the other one was exported without moving its lanes, or says nothing true.
Status check_pairing(const Part& part) {
  for (const std::string_view key :
       {"rope_interleaved", "rope_interleave", "rotary_emb_interleaved"}) {
    HODO_ASSIGN(const auto interleaved, part.config.find<bool>(key));
    if (!interleaved) continue;
    if (interleaved->value != (*part.family->layout == PairLayout::interleaved)) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} is {}, but the published code of {} pairs lanes {}",
                               interleaved->source, interleaved->value, part.family->model_type,
                               write_json(*part.family->layout).get<std::string>())};
    }
  }
  for (const std::string_view key : {"rotary_emb_scale_base", "rotary_scaling_factor"}) {
    HODO_ASSIGN(const auto given, part.config.find<double>(key));
    if (!given) continue;
    return Error{ErrorKind::unsupported,
                 fmt::format("{} is {}: only null is covered; give the method as a spec",
                             given->source, given->value)};
  }
  return {};
}

/// Where it says that layers do not rotate.
Setting why_not_turned(const Part& part, bool null_block, const LayerKind& kind) {
  if (null_block) {
    return {"method", "nope", Origin::file,
            fmt::format("{} has no rope parameters", describe(Json(kind.name)))};
  }
  if (part.family->rotates == Rotates::if_position_embedding_type_rope &&
      part.config.has("position_embedding_type")) {
    return {"method", "nope", Origin::file, part.config.at("position_embedding_type")};
  }
  return {"method", "nope", Origin::architecture,
          fmt::format("{} does not rotate these layers", part.family->model_type)};
}

}  // namespace

Status read_decoder(const Part& part) {
  const Family& family = *part.family;
  HODO_ASSIGN(LayerKinds kinds, read_layer_kinds(part));
  HODO_RETURN_IF_ERROR(check_pairing(part));
  HODO_RETURN_IF_ERROR(check_rotation_switch(part, kinds));
  HODO_ASSIGN(const RopeBlock blocks, read_rope_block(part, kinds));
  if (family.rope_block == RopeBlockKey::required && !blocks.flat && !blocks.per_kind()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is missing: models of {} are trained with a schedule, and the "
                             "default of its class is not that of other engines",
                             part.config.at("rope_parameters"), family.model_type)};
  }
  if (part.prefix.empty() && !part.model->num_layers) part.model->num_layers = kinds.num_layers;
  const bool applies = std::any_of(kinds.kinds.begin(), kinds.kinds.end(), [&](const auto& kind) {
    return kind.rotates && block_of_kind(blocks, kind, family);
  });
  if (blocks.flat && !applies) {
    part.config.ledger().opaque.insert(blocks.flat->path());
    part.config.warn(
        fmt::format("{} applies to layers that the model does not have", blocks.flat->path()));
  }
  for (const LayerKind& kind : kinds.kinds) {
    PositionUse use;
    use.name = part.use_name(label(kinds, kind));
    use.layers = kind.layers;
    use.mask = kind.mask;
    if (kind.mask_size) use.mask_size = kind.mask_size->value;
    if (!kind.why.name.empty()) use.settings.push_back(kind.why);
    const auto null_block = blocks.by_kind.find(kind.name);
    const bool switched_off = null_block != blocks.by_kind.end() && !null_block->second;
    if (kind.work == LayerWork::recurrence) {
      use.spec.method = Nope{};
      use.settings.push_back({"method", "nope", Origin::architecture,
                              "recurrent layers know the order by themselves"});
    } else if (!kind.rotates || switched_off) {
      use.spec.method = Nope{};
      use.settings.push_back(why_not_turned(part, switched_off, kind));
      if (family.score == ScoreRule::temperature_on_nope) {
        HODO_RETURN_IF_ERROR(add_temperature_on_nope(part, use));
      }
    } else {
      // Score rules with keys in the block come first: they mark those keys as read.
      if (family.score == ScoreRule::temperature_from_zero) {
        HODO_RETURN_IF_ERROR(add_temperature_from_zero(block_of_kind(blocks, kind, family), use));
      }
      HODO_ASSIGN(ReadRotary rotary, read_kind(part, kind, blocks));
      HODO_RETURN_IF_ERROR(set_rotary(part, std::move(rotary), use));
    }
    HODO_RETURN_IF_ERROR(add_use(part, std::move(use)));
  }
  return {};
}

}  // namespace hodometer
