#include "hodometer/models/rope_parameters-inl.h"

#include <algorithm>

namespace hodometer {
namespace {

bool holds_kinds(const Json& object, const LayerKinds& kinds) {
  if (object.empty()) return false;
  for (const auto& [key, value] : object.items()) {
    const bool known = std::any_of(kinds.kinds.begin(), kinds.kinds.end(),
                                   [&](const LayerKind& kind) { return kind.name == key; });
    const bool looks_like_one = key.ends_with("_attention") || key.starts_with("hybrid");
    if (!(known || looks_like_one) || !(value.is_object() || value.is_null())) return false;
  }
  return true;
}

/// Reads one schedule's keys: each call takes a key from the block and notes it as a setting.
class ScheduleReader {
 public:
  ScheduleReader(const RopeContext& context, const ConfigReader& block)
      : context_(context), block_(block) {}

  Status number(std::string_view name, double& out) {
    HODO_ASSIGN(auto value, block_.require<double>(name, needed()));
    return take(name, value, out);
  }
  template <class T>
  Status maybe(std::string_view name, std::optional<T>& out) {
    HODO_ASSIGN(auto value, block_.find<T>(name));
    if (!value) return {};
    T taken{};
    HODO_RETURN_IF_ERROR(take(name, *value, taken));
    out = taken;
    return {};
  }
  template <class T>
  Status list(std::string_view name, std::vector<T>& out) {
    HODO_ASSIGN(auto value, block_.require<std::vector<T>>(name, needed()));
    settings.push_back({fmt::format("schedule.{}", name),
                        fmt::format("{} values", value.value.size()), value.origin, value.source});
    out = std::move(value.value);
    return {};
  }
  template <class T>
  Status take(std::string_view name, const Sourced<T>& value, T& out) {
    settings.push_back(setting(fmt::format("schedule.{}", name), value));
    out = value.value;
    return {};
  }

  /// The trained length: the section's own key beats the block's, as in Hugging Face; without
  /// either, max_position_embeddings stands in when `fallback` is allowed to.
  Status original(int64_t& out) {
    HODO_ASSIGN(auto top, context_.part->config.find<int64_t>("original_max_position_embeddings"));
    HODO_ASSIGN(auto inner, block_.find<int64_t>("original_max_position_embeddings"));
    if (top && inner && top->value != inner->value) {
      context_.part->config.warn(
          fmt::format("{} is {} and {} is {}: the first counts, as in Hugging Face", top->source,
                      top->value, inner->source, inner->value));
    }
    auto value = top ? top : inner;
    given_original = value.has_value();
    if (!value && context_.max_position_embeddings) {
      value = context_.max_position_embeddings;
      value->origin = Origin::assumed;
      value->source += " stands in for original_max_position_embeddings";
    }
    if (!value) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} is missing: {}", block_.at("original_max_position_embeddings"),
                               needed())};
    }
    if (value->value < 1) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} is {}: expected at least 1", value->source, value->value)};
    }
    trained = value->value;
    return take("original_max_position_embeddings", *value, out);
  }

  std::string needed() const { return fmt::format("rope_type \"{}\" needs it", type); }

  std::string type;
  std::vector<Setting> settings;
  bool given_original = false;
  std::optional<int64_t> trained;

 private:
  const RopeContext& context_;
  const ConfigReader& block_;
};

/// original * factor, or nothing when that is no position.
std::optional<int64_t> window_of(int64_t original, double factor) {
  const double window = static_cast<double>(original) * factor;
  if (!(window >= 1 && window < 9e15)) return std::nullopt;
  return static_cast<int64_t>(std::llround(window));
}

void warn_small_factor(const RopeContext& context, double factor) {
  if (factor >= 1) return;
  context.part->config.warn(fmt::format("{} is {}: a factor below 1 speeds the rotation up",
                                        context.block->at("factor"), factor));
}

/// A key that other engines read and Hugging Face does not: fine at the value that changes
/// nothing, otherwise nobody can say what the model was trained with.
Status expect_neutral(const ConfigReader& block, std::string_view key, double neutral) {
  HODO_ASSIGN(const auto value, block.find<double>(key));
  if (!value || value->value == neutral) return {};
  return Error{ErrorKind::unsupported,
               fmt::format("{} is {}: Hugging Face ignores this key and other engines apply it; "
                           "remove it, or give the method as a spec",
                           value->source, value->value)};
}

Result<FrequencySchedule> read_yarn(const RopeContext& context, ScheduleReader& reader,
                                    ReadSchedule& result) {
  const ConfigReader& block = *context.block;
  const ConfigReader& config = context.part->config;
  YarnSchedule rule;
  HODO_RETURN_IF_ERROR(reader.original(rule.original_max_position_embeddings));
  const auto& max = context.max_position_embeddings;
  const double ratio = max ? static_cast<double>(max->value) /
                                 static_cast<double>(rule.original_max_position_embeddings)
                           : 0;
  if (block.is_null("factor") && max) {
    block.mark_read("factor");
    HODO_RETURN_IF_ERROR(reader.take(
        "factor",
        Sourced<double>{
            ratio, Origin::assumed,
            fmt::format("{} is null: max_position_embeddings {} over "
                        "original_max_position_embeddings {}",
                        block.at("factor"), max->value, rule.original_max_position_embeddings)},
        rule.factor));
  } else {
    HODO_RETURN_IF_ERROR(reader.number("factor", rule.factor));
  }
  for (const auto& [key, member] :
       {std::pair{"beta_fast", &rule.beta_fast}, std::pair{"beta_slow", &rule.beta_slow}}) {
    HODO_ASSIGN(const auto value, block.find<double>(key));
    if (!value) continue;
    if (value->value == 0) {
      config.warn(fmt::format("{} is 0: counts as absent, {} is used, as in Hugging Face",
                              value->source, *member));
      continue;
    }
    HODO_RETURN_IF_ERROR(reader.take(key, *value, *member));
  }
  HODO_ASSIGN(const auto truncate, block.find<bool>("truncate"));
  if (truncate) HODO_RETURN_IF_ERROR(reader.take("truncate", *truncate, rule.truncate));
  HODO_RETURN_IF_ERROR(reader.maybe("attention_factor", rule.attention_factor));
  HODO_RETURN_IF_ERROR(reader.maybe("mscale", rule.mscale));
  HODO_RETURN_IF_ERROR(reader.maybe("mscale_all_dim", rule.mscale_all_dim));
  HODO_RETURN_IF_ERROR(expect_neutral(block, "extrapolation_factor", 1));
  HODO_RETURN_IF_ERROR(expect_neutral(block, "attn_factor", 1));

  warn_small_factor(context, rule.factor);
  const auto window = window_of(rule.original_max_position_embeddings, rule.factor);
  if (reader.given_original && window) {
    result.longest_input = window;
    if (max && max->value != *window && max->value != rule.original_max_position_embeddings) {
      config.warn(fmt::format(
          "{} is {}, but original_max_position_embeddings {} times factor {} is {}: the explicit "
          "factor is used (the lengths alone would make it {})",
          max->source, max->value, rule.original_max_position_embeddings, rule.factor, *window,
          ratio));
    }
  }
  return FrequencySchedule(rule);
}

Result<FrequencySchedule> read_llama3(const RopeContext& context, ScheduleReader& reader) {
  Llama3Schedule rule;
  HODO_RETURN_IF_ERROR(reader.number("factor", rule.factor));
  HODO_RETURN_IF_ERROR(reader.number("low_freq_factor", rule.low_freq_factor));
  HODO_RETURN_IF_ERROR(reader.number("high_freq_factor", rule.high_freq_factor));
  HODO_RETURN_IF_ERROR(reader.original(rule.original_max_position_embeddings));
  warn_small_factor(context, rule.factor);
  const auto& max = context.max_position_embeddings;
  if (max && rule.original_max_position_embeddings >= max->value) {
    context.part->config.warn(fmt::format(
        "original_max_position_embeddings {} is not below {} {}: the scaling extends nothing",
        rule.original_max_position_embeddings, max->source, max->value));
  }
  if (rule.low_freq_factor > rule.high_freq_factor) {
    context.part->config.warn(fmt::format("{} {} is above high_freq_factor {}",
                                          context.block->at("low_freq_factor"),
                                          rule.low_freq_factor, rule.high_freq_factor));
  }
  return FrequencySchedule(rule);
}

Result<FrequencySchedule> read_longrope(const RopeContext& context, ScheduleReader& reader) {
  const ConfigReader& config = context.part->config;
  LongRopeSchedule rule;
  HODO_RETURN_IF_ERROR(reader.list("short_factor", rule.short_factor));
  HODO_RETURN_IF_ERROR(reader.list("long_factor", rule.long_factor));
  HODO_RETURN_IF_ERROR(reader.original(rule.original_max_position_embeddings));
  HODO_RETURN_IF_ERROR(reader.maybe("factor", rule.factor));
  HODO_RETURN_IF_ERROR(reader.maybe("attention_factor", rule.attention_factor));
  HODO_RETURN_IF_ERROR(reader.maybe("short_mscale", rule.short_mscale));
  HODO_RETURN_IF_ERROR(reader.maybe("long_mscale", rule.long_mscale));
  if (!rule.factor && context.max_position_embeddings) {
    int64_t extended = 0;
    HODO_RETURN_IF_ERROR(
        reader.take("max_position_embeddings", *context.max_position_embeddings, extended));
    rule.max_position_embeddings = extended;
  }
  if (!reader.given_original) {
    config.warn(fmt::format("{} is missing: without it the long list is never used",
                            config.at("original_max_position_embeddings")));
  }
  return FrequencySchedule(rule);
}

Result<FrequencySchedule> read_dynamic(const RopeContext& context, ScheduleReader& reader) {
  const ConfigReader& block = *context.block;
  HODO_ASSIGN(const auto alpha, block.find<double>("alpha"));
  if (alpha && alpha->value != 0) {
    if (!context.part->family->model_type.starts_with("hunyuan")) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} is {}: with rope_type \"dynamic\" only HunYuan models define "
                               "it; other engines disagree about it",
                               alpha->source, alpha->value)};
    }
    block.mark_read("factor");
    NtkSchedule rule{alpha->value, NtkVariant::scaled_base, std::nullopt};
    reader.settings.push_back(setting("schedule.factor", *alpha));
    reader.settings.push_back({"schedule.variant", "scaled_base", Origin::architecture,
                               "alpha raises the base once, whatever the length"});
    return FrequencySchedule(rule);
  }
  DynamicNtkSchedule rule;
  HODO_RETURN_IF_ERROR(reader.number("factor", rule.factor));
  if (!context.max_position_embeddings) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is missing: rope_type \"dynamic\" starts from it",
                             context.part->config.at("max_position_embeddings"))};
  }
  warn_small_factor(context, rule.factor);
  HODO_RETURN_IF_ERROR(reader.take("original_max_position_embeddings",
                                   *context.max_position_embeddings,
                                   rule.original_max_position_embeddings));
  return FrequencySchedule(rule);
}

Result<FrequencySchedule> read_ntk(const RopeContext& context, ScheduleReader& reader) {
  NtkSchedule rule;
  HODO_RETURN_IF_ERROR(reader.number("factor", rule.factor));
  HODO_RETURN_IF_ERROR(reader.maybe("mixed_b", rule.mixed_b));
  rule.variant = rule.mixed_b ? NtkVariant::mixed : NtkVariant::scaled_all;
  warn_small_factor(context, rule.factor);
  reader.settings.push_back({"schedule.variant", rule.mixed_b ? "mixed" : "scaled_all",
                             Origin::architecture, "vLLM's rope_type \"ntk\""});
  return FrequencySchedule(rule);
}

Result<FrequencySchedule> read_rule(const RopeContext& context, ScheduleReader& reader,
                                    ReadSchedule& result) {
  const std::string& type = reader.type;
  if (type == "default") return FrequencySchedule(DefaultSchedule{});
  if (type == "yarn") return read_yarn(context, reader, result);
  if (type == "llama3") return read_llama3(context, reader);
  if (type == "longrope") return read_longrope(context, reader);
  if (type == "dynamic") return read_dynamic(context, reader);
  if (type == "ntk") return read_ntk(context, reader);
  if (type == "linear") {
    LinearSchedule rule;
    HODO_RETURN_IF_ERROR(reader.number("factor", rule.factor));
    warn_small_factor(context, rule.factor);
    return FrequencySchedule(rule);
  }
  if (type == "proportional") {
    ProportionalSchedule rule;
    rule.partial_rotary_factor = context.fraction.value;
    reader.settings.push_back(setting("schedule.partial_rotary_factor", context.fraction));
    HODO_ASSIGN(const auto factor, context.block->find<double>("factor"));
    if (factor) HODO_RETURN_IF_ERROR(reader.take("factor", *factor, rule.factor));
    return FrequencySchedule(rule);
  }
  return Error{ErrorKind::unsupported,
               fmt::format("{} is \"{}\": expected default, linear, dynamic, yarn, longrope, "
                           "llama3, proportional or ntk",
                           context.block->at("rope_type"), type)};
}

/// Everything in a rope block is about positions, so what nobody read there cannot be passed over:
/// a parameter of another rope type is named, an unknown one is refused.
Status check_leftovers(const RopeContext& context, const std::string& type) {
  const ConfigReader& block = *context.block;
  std::vector<std::string> unused;
  for (const auto& [key, value] : block.object().items()) {
    const std::string path = block.at(key);
    if (block.ledger().read.contains(path)) continue;
    // Sections are read with the method, after the schedule.
    const auto sections = key_spellings("mrope_section").spellings;
    const bool is_section = std::find(sections.begin(), sections.end(), key) != sections.end();
    if (is_section || key == "mrope_interleaved") continue;
    if (!is_rope_parameter(key)) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} ({}) is not a known parameter of rope_type \"{}\": what it does "
                               "to the rotation is not known",
                               path, describe(value), type)};
    }
    block.ledger().read.insert(path);
    const bool says_nothing = value.is_null() || key == "finetuned" || key == "rope_type" ||
                              key == "type" || key == "max_position_embeddings";
    if (!says_nothing) unused.push_back(key);
  }
  if (!unused.empty()) {
    block.warn(fmt::format("{}: {} not read by rope_type \"{}\"", block.path(),
                           fmt::join(unused, ", "), type));
  }
  return {};
}

}  // namespace

Result<RopeBlock> read_rope_block(const Part& part, const LayerKinds& kinds) {
  RopeBlock result;
  std::optional<ConfigReader> found;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    HODO_ASSIGN(auto section, part.config.section(key));
    if (!section || section->object().empty()) continue;
    if (part.family->scaling == ScalingScope::not_read) {
      part.config.ledger().opaque.insert(section->path());
      part.config.warn(fmt::format("{} is not read by the code of {}", section->path(),
                                   part.family->model_type));
      continue;
    }
    if (found && found->object() != section->object()) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} and {} are both given and differ: only one can count",
                               found->path(), section->path())};
    }
    if (found) {
      for (const auto& [member, unused] : section->object().items()) section->mark_read(member);
      continue;
    }
    found = std::move(section);
  }
  if (!found) return result;
  if (!holds_kinds(found->object(), kinds)) {
    result.flat = found;
    return result;
  }
  for (const auto& [kind, unused] : found->object().items()) {
    HODO_ASSIGN(auto section, found->section(kind));
    result.by_kind.emplace(kind, std::move(section));
  }
  return result;
}

Result<Sourced<std::string>> read_rope_type(const Part& part, const ConfigReader& block) {
  HODO_ASSIGN(auto type, block.find<std::string>("rope_type"));
  if (!type) {
    return Sourced<std::string>{"default", Origin::assumed,
                                fmt::format("{} names no rope_type", block.path())};
  }
  std::string& name = type->value;
  const bool phi3 = part.family->model_type.starts_with("phi3");
  if (name == "su" || (name == "yarn" && phi3)) name = "longrope";
  if (name == "mrope" || name == "none") name = "default";
  if (name == "deepseek_yarn") name = "yarn";
  return *std::move(type);
}

Result<ReadSchedule> read_schedule(const RopeContext& context) {
  ReadSchedule result;
  result.rule = DefaultSchedule{};
  const auto& max = context.max_position_embeddings;
  if (max) {
    result.trained_length = max->value;
    result.longest_input = max->value;
  }
  if (!context.block) return result;
  HODO_ASSIGN(const auto type, read_rope_type(*context.part, *context.block));
  ScheduleReader reader(context, *context.block);
  reader.type = type.value;
  if (type.value != "default") reader.settings.push_back(setting("schedule.rope_type", type));
  HODO_ASSIGN(result.rule, read_rule(context, reader, result));
  HODO_RETURN_IF_ERROR(check_leftovers(context, type.value));
  if (reader.trained) result.trained_length = reader.trained;
  result.settings = std::move(reader.settings);
  return result;
}

}  // namespace hodometer
