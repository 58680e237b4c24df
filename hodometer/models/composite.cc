#include <algorithm>

#include "hodometer/models/families-inl.h"

namespace hodometer {
namespace {

enum class Role : uint8_t { text, vision, audio, inner, other };

struct SectionRole {
  std::string_view key;
  Role role;
};

// "inner" holds sections of its own.
constexpr std::array<SectionRole, 14> section_roles = {{{"text_config", Role::text},
                                                        {"language_config", Role::text},
                                                        {"llm_config", Role::text},
                                                        {"vision_config", Role::vision},
                                                        {"audio_config", Role::audio},
                                                        {"encoder", Role::text},
                                                        {"decoder", Role::text},
                                                        {"thinker_config", Role::inner},
                                                        {"talker_config", Role::other},
                                                        {"token2wav_config", Role::other},
                                                        {"code2wav_config", Role::other},
                                                        {"vq_config", Role::other},
                                                        {"codec_config", Role::other},
                                                        {"qformer_config", Role::other}}};

std::string_view default_family(const Family& parent, Role role) {
  switch (role) {
    case Role::text:
      return parent.text;
    case Role::vision:
      return parent.vision;
    case Role::audio:
      return parent.audio;
    case Role::inner:
    case Role::other:
      break;
  }
  return {};
}

std::string part_prefix(const Part& parent, const SectionRole& section) {
  std::string_view name;
  if (section.key == "encoder" || section.key == "decoder") {
    name = section.key;
  } else if (section.role == Role::vision) {
    name = "vision";
  } else if (section.role == Role::audio) {
    name = "audio";
  }
  return name.empty() ? parent.prefix : parent.use_name(name);
}

/// The family of a section: its own model_type where that names a single part, else the parent's.
Result<const Family*> family_of(const Part& parent, const ConfigReader& section, Role role) {
  HODO_ASSIGN(const auto named, section.find<std::string>("model_type"));
  if (named) {
    const Family* family = find_family(named->value);
    if (family != nullptr && family->read != read_composite) return family;
    // A section may name the whole of another model: its part counts.
    if (family != nullptr && named->value != parent.family->model_type) {
      const Family* same_part = find_family(default_family(*family, role));
      if (same_part != nullptr) return same_part;
    }
  }
  const bool own_name =
      !named || named->value == parent.family->model_type || find_family(named->value) != nullptr;
  const Family* fallback = find_family(default_family(*parent.family, role));
  if (fallback != nullptr && own_name) return fallback;
  if (role != Role::text) return static_cast<const Family*>(nullptr);
  if (!named) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} is missing: it says how lanes pair, which no other key does",
                             section.at("model_type"))};
  }
  return Error{ErrorKind::unsupported,
               fmt::format("{} \"{}\" is not known: how it pairs lanes is written in no file, so "
                           "nothing is assumed",
                           named->source, named->value)};
}

Status read_section(const Part& part, const SectionRole& section) {
  HODO_ASSIGN(const auto reader, part.config.section(section.key));
  if (!reader) return {};
  if (section.role == Role::inner) {
    return read_composite({*reader, part.family, part.prefix, part.model});
  }
  const Family* family = nullptr;
  if (section.role != Role::other) {
    HODO_ASSIGN(family, family_of(part, *reader, section.role));
  }
  const bool covered = family != nullptr && family->read != refuse;
  if (covered || (family != nullptr && section.role == Role::text)) {
    return family->read({*reader, family, part_prefix(part, section), part.model});
  }
  reader->ledger().opaque.insert(reader->path());
  reader->warn(fmt::format("{}{}: its positions are not explained", reader->path(),
                           family != nullptr ? fmt::format(" ({})", family->model_type) : ""));
  return {};
}

}  // namespace

Status read_composite(const Part& part) {
  const auto names_text = [&](const SectionRole& section) {
    const auto found = part.config.object().find(std::string(section.key));
    return (section.role == Role::text || section.role == Role::inner) &&
           found != part.config.object().end() && found->is_object();
  };
  // Before version 5 some models kept the keys of the text model at the top.
  const Family* text = find_family(part.family->text);
  if (text != nullptr && std::none_of(section_roles.begin(), section_roles.end(), names_text)) {
    HODO_RETURN_IF_ERROR(text->read({part.config, text, part.prefix, part.model}));
  }
  for (const SectionRole& section : section_roles) {
    HODO_RETURN_IF_ERROR(read_section(part, section));
  }
  return {};
}

}  // namespace hodometer
