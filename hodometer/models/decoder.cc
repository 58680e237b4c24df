#include <algorithm>

#include "hodometer/models/families-inl.h"
#include "hodometer/models/layer_kinds-inl.h"
#include "hodometer/models/rope_parameters-inl.h"
#include "hodometer/models/rotary_heads-inl.h"

namespace hodometer {
namespace {

/// The rotary method of one kind of layer.
struct ReadRotary {
  PositionSpec spec;
  std::vector<Setting> settings;
  std::optional<int64_t> trained_length;
  std::optional<int64_t> longest_input;
};

/// Gemma 4 has wider heads in its full layers.
Result<Sourced<int64_t>> head_dim_of_kind(const Part& part, const LayerKind& kind) {
  HODO_ASSIGN(const auto global, part.config.find<int64_t>("global_head_dim"));
  if (global && kind.name == "full_attention") return *global;
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

/// Sections of the pairs over time, height and width, when the file or the family has them: they
/// make it M-RoPE whatever the rope type says.
Result<std::optional<Mrope>> read_sections(const Part& part, const Rotary& rotary,
                                           const std::optional<ConfigReader>& block,
                                           std::vector<Setting>& settings) {
  std::optional<Sourced<std::vector<int64_t>>> sections;
  std::optional<Sourced<bool>> interleaved;
  if (block) {
    HODO_ASSIGN(sections, block->find<std::vector<int64_t>>("mrope_section"));
    HODO_ASSIGN(interleaved, block->find<bool>("mrope_interleaved"));
  }
  const Family& family = *part.family;
  if (!sections && !family.mrope_section.empty()) {
    sections =
        Sourced<std::vector<int64_t>>{family.mrope_section, Origin::assumed, part.customary()};
  }
  if (!sections) return std::optional<Mrope>();
  Mrope mrope{rotary, sections->value, family.sections.value_or(SectionLayout::chunked)};
  Setting layout{"section_layout", "", Origin::architecture, part.fixed()};
  if (!family.sections) {
    // Sections in a family that is not known for them: the key decides, its absence is chunked.
    layout.origin = interleaved ? Origin::file : Origin::assumed;
    layout.source = interleaved ? interleaved->source : "Qwen2-VL's layout, as no key says";
    if (interleaved && interleaved->value) mrope.section_layout = SectionLayout::interleaved;
  } else if (interleaved) {
    const bool agrees = interleaved->value == (*family.sections == SectionLayout::interleaved);
    if (!agrees) {
      return Error{
          ErrorKind::bad_input,
          fmt::format("{} is {}, but {} has {} sections", interleaved->source, interleaved->value,
                      family.model_type,
                      *family.sections == SectionLayout::interleaved ? "interleaved" : "chunked")};
    }
  }
  layout.value = write_json(mrope.section_layout).get<std::string>();
  settings.push_back(setting("mrope_section", *sections));
  settings.push_back(std::move(layout));
  return std::optional(std::move(mrope));
}

Result<ReadRotary> read_rotary(const Part& part, const LayerKind& kind, const RopeBlock& blocks) {
  const Family& family = *part.family;
  const auto block = block_of_kind(blocks, kind, family);
  if (blocks.per_kind() && !block) {
    return Error{
        ErrorKind::bad_input,
        fmt::format("{} has layers of type {}, but the rope block has no member for it",
                    part.config.path().empty() ? "the model" : part.config.path(), kind.name)};
  }
  ReadRotary result;
  HODO_ASSIGN(const auto head_dim, head_dim_of_kind(part, kind));
  HODO_ASSIGN(const auto fraction, read_fraction(part, block));
  const bool local = kind.name == "sliding_attention" && family.local_base > 0;
  HODO_ASSIGN(const auto base,
              read_base(part, block, local && !blocks.per_kind() ? "local_base" : "base",
                        local ? family.local_base : family.base));
  HODO_ASSIGN(const auto max, part.config.find<int64_t>("max_position_embeddings"));
  if (max && max->value < 1) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is {}: expected at least 1", max->source, max->value)};
  }

  Rotary rotary;
  rotary.head_dim = head_dim.value;
  rotary.layout = *family.layout;
  rotary.base = base.value;
  result.settings.push_back(setting("head_dim", head_dim));
  result.settings.push_back(setting("base", base));
  RopeContext context{&part, block, max, fraction};
  HODO_ASSIGN(auto schedule, read_schedule(context));
  // "proportional" keeps the whole head as its width; the fraction is a parameter of the rule.
  if (!std::holds_alternative<ProportionalSchedule>(schedule.rule)) {
    HODO_ASSIGN(const auto rotary_dim, read_rotary_dim(part, head_dim, fraction));
    if (rotary_dim.value != head_dim.value) rotary.rotary_dim = rotary_dim.value;
    result.settings.push_back(setting("rotary_dim", rotary_dim));
  }
  rotary.schedule = std::move(schedule.rule);
  result.settings.insert(result.settings.end(), schedule.settings.begin(), schedule.settings.end());
  result.trained_length = schedule.trained_length;
  result.longest_input = schedule.longest_input;

  HODO_ASSIGN(auto mrope, read_sections(part, rotary, block, result.settings));
  if (mrope) {
    result.spec.method = *std::move(mrope);
  } else {
    result.spec.method = std::move(rotary);
  }
  return result;
}

/// Ministral 3 and Mistral 4: a temperature on every layer, with its weight in the rope block.
Status add_temperature_from_zero(const std::optional<ConfigReader>& block, ReadRotary& rotary) {
  if (!block) return {};
  HODO_ASSIGN(const auto beta, block->find<double>("llama_4_scaling_beta"));
  if (!beta || beta->value == 0) return {};
  HODO_ASSIGN(const auto floor_scale,
              block->require<double>("original_max_position_embeddings",
                                     "llama_4_scaling_beta counts steps of it"));
  rotary.spec.logit_scale.push_back(TemperatureScale{beta->value, floor_scale.value, 0});
  rotary.settings.push_back(setting("logit_scale.beta", *beta));
  rotary.settings.push_back(setting("logit_scale.floor_scale", floor_scale));
  return {};
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

}  // namespace

Status read_decoder(const Part& part) {
  const Family& family = *part.family;
  HODO_ASSIGN(LayerKinds kinds, read_layer_kinds(part));
  HODO_RETURN_IF_ERROR(check_rotation_switch(part, kinds));
  HODO_ASSIGN(const RopeBlock blocks, read_rope_block(part, kinds));
  if (part.prefix.empty()) part.model->num_layers = kinds.num_layers;
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
      use.settings.push_back({"method", "nope", Origin::architecture,
                              fmt::format("{} does not rotate these layers", family.model_type)});
      if (family.score == ScoreRule::temperature_on_nope) {
        HODO_RETURN_IF_ERROR(add_temperature_on_nope(part, use));
      }
    } else {
      // Score rules with keys in the block come first: they mark those keys as read.
      const auto block = block_of_kind(blocks, kind, family);
      ReadRotary extra;
      if (family.score == ScoreRule::temperature_from_zero) {
        HODO_RETURN_IF_ERROR(add_temperature_from_zero(block, extra));
      }
      HODO_ASSIGN(ReadRotary rotary, read_rotary(part, kind, blocks));
      use.spec = std::move(rotary.spec);
      use.spec.logit_scale = std::move(extra.spec.logit_scale);
      use.trained_length = rotary.trained_length;
      use.longest_input = rotary.longest_input;
      use.layout_reason = part.fixed();
      use.settings.insert(use.settings.end(), rotary.settings.begin(), rotary.settings.end());
      use.settings.insert(use.settings.end(), extra.settings.begin(), extra.settings.end());
    }
    HODO_RETURN_IF_ERROR(add_use(part, std::move(use)));
  }
  return {};
}

}  // namespace hodometer
