#include "hodometer/models/rotary_use-inl.h"

#include "hodometer/models/rotary_heads-inl.h"

namespace hodometer {
namespace {

/// Sections of the pairs over time, height and width, when the file or the family has them: they
/// make it M-RoPE whatever the rope type says.
Result<std::optional<Mrope>> read_sections(const Part& part, const ReadRotary& read,
                                           std::vector<Setting>& settings) {
  const Family& family = *part.family;
  std::optional<Sourced<std::vector<int64_t>>> sections;
  std::optional<Sourced<bool>> interleaved;
  if (read.block) {
    HODO_ASSIGN(sections, read.block->find<std::vector<int64_t>>("mrope_section"));
    HODO_ASSIGN(interleaved, read.block->find<bool>("mrope_interleaved"));
  }
  if (!sections && !family.mrope_section.empty()) {
    sections =
        Sourced<std::vector<int64_t>>{family.mrope_section, Origin::assumed, part.customary()};
  }
  if (!sections) return std::optional<Mrope>();
  Mrope mrope{read.rotary, sections->value, family.sections.value_or(SectionLayout::chunked)};
  Setting layout{"section_layout", "", Origin::architecture, part.fixed()};
  if (!family.sections) {
    // A family that is not known for sections: the key decides, and its absence means chunked.
    layout.origin = interleaved ? Origin::file : Origin::assumed;
    layout.source = interleaved ? interleaved->source : "Qwen2-VL's layout, as no key says";
    if (interleaved && interleaved->value) mrope.section_layout = SectionLayout::interleaved;
  } else if (interleaved &&
             interleaved->value != (*family.sections == SectionLayout::interleaved)) {
    return Error{
        ErrorKind::bad_input,
        fmt::format("{} is {}, but {} has {} sections", interleaved->source, interleaved->value,
                    family.model_type, write_json(*family.sections).get<std::string>())};
  }
  layout.value = write_json(mrope.section_layout).get<std::string>();
  settings.push_back(setting("mrope_section", *sections));
  settings.push_back(std::move(layout));
  return std::optional(std::move(mrope));
}

}  // namespace

Result<ReadRotary> read_rotary(const Part& part, const std::optional<ConfigReader>& block,
                               const Sourced<double>& base, const RotarySlice& slice) {
  HODO_ASSIGN(const auto max, part.config.find<int64_t>("max_position_embeddings"));
  if (max && max->value < 1) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is {}: expected at least 1", max->source, max->value)};
  }
  ReadRotary result;
  result.block = block;
  Rotary& rotary = result.rotary;
  rotary.head_dim = slice.head_dim.value;
  rotary.rotary_start = slice.rotary_start;
  rotary.layout = slice.layout;
  rotary.base = base.value;
  result.settings.push_back(setting("head_dim", slice.head_dim));

  RopeContext context{&part, block, max, {1.0, Origin::architecture, part.fixed()}};
  if (!slice.rotary_dim) {
    HODO_ASSIGN(context.fraction, read_fraction(part, block));
  } else if (block) {
    block->mark_read("partial_rotary_factor");
  }
  HODO_ASSIGN(ReadSchedule schedule, read_schedule(context));
  std::optional<Sourced<int64_t>> rotary_dim = slice.rotary_dim;
  // "proportional" keeps the whole head as its width; the fraction is a parameter of the rule.
  if (!rotary_dim && !std::holds_alternative<ProportionalSchedule>(schedule.rule)) {
    HODO_ASSIGN(rotary_dim, read_rotary_dim(part, slice.head_dim, context.fraction,
                                            std::holds_alternative<DefaultSchedule>(schedule.rule)
                                                ? part.family->fraction_key
                                                : FractionKey::read));
  }
  if (rotary_dim) {
    if (rotary_dim->value != rotary.head_dim) rotary.rotary_dim = rotary_dim->value;
    result.settings.push_back(setting("rotary_dim", *rotary_dim));
  }
  if (rotary.rotary_start != 0) {
    result.settings.push_back({"rotary_start", fmt::format("{}", rotary.rotary_start),
                               Origin::architecture, part.fixed()});
  }
  result.settings.push_back(setting("base", base));
  rotary.schedule = std::move(schedule.rule);
  result.settings.insert(result.settings.end(), schedule.settings.begin(), schedule.settings.end());
  result.trained_length = schedule.trained_length;
  result.longest_input = schedule.longest_input;
  return result;
}

Status set_rotary(const Part& part, ReadRotary rotary, PositionUse& use) {
  HODO_ASSIGN(auto mrope, read_sections(part, rotary, rotary.settings));
  if (mrope) {
    use.spec.method = *std::move(mrope);
  } else {
    use.spec.method = std::move(rotary.rotary);
  }
  use.trained_length = rotary.trained_length;
  use.longest_input = rotary.longest_input;
  use.layout_reason = part.fixed();
  use.settings.insert(use.settings.end(), rotary.settings.begin(), rotary.settings.end());
  return {};
}

Status add_temperature_from_zero(const std::optional<ConfigReader>& block, PositionUse& use) {
  if (!block) return {};
  HODO_ASSIGN(const auto beta, block->find<double>("llama_4_scaling_beta"));
  if (!beta || beta->value == 0) return {};
  HODO_ASSIGN(const auto floor_scale,
              block->require<double>("original_max_position_embeddings",
                                     "llama_4_scaling_beta counts steps of it"));
  use.spec.logit_scale.push_back(TemperatureScale{beta->value, floor_scale.value, 0});
  use.settings.push_back(setting("logit_scale.beta", *beta));
  use.settings.push_back(setting("logit_scale.floor_scale", floor_scale));
  return {};
}

}  // namespace hodometer
