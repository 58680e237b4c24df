#include "hodometer/models/from_hf_config.h"

#include <algorithm>
#include <numeric>

#include "hodometer/models/families-inl.h"

namespace hodometer {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

Error unknown_model_type(const std::string& where, const std::string& name) {
  std::vector<std::pair<size_t, std::string_view>> near;
  const std::string shown = name.substr(0, 60);
  for (const Family& family : families()) {
    const size_t distance = edit_distance(shown, family.model_type);
    const bool inside = shown.size() > 2 && (family.model_type.starts_with(shown) ||
                                             shown.starts_with(family.model_type));
    if (distance <= shown.size() / 3 || inside) near.emplace_back(distance, family.model_type);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::min<size_t>(near.size(), 4); ++i) names.push_back(near[i].second);
  return {
      ErrorKind::unsupported,
      fmt::format("{} {} is not known{}{}: how it pairs lanes is written in no file, so nothing "
                  "is assumed; give the method as a spec instead",
                  where, describe(Json(shown)),
                  names.empty() ? "" : "; near: ", fmt::join(names, ", "))};
}

/// Class names of model code that never had a model_type of their own.
Result<std::string> model_type_of(const ConfigReader& config, std::string& source) {
  HODO_ASSIGN(const auto given, config.find<std::string>("model_type"));
  if (given) {
    source = given->source;
    return given->value;
  }
  HODO_ASSIGN(const auto classes, config.find<std::vector<std::string>>("architectures"));
  if (classes && !classes->value.empty()) {
    // "Qwen2ForCausalLM" belongs to "qwen2", "GPTNeoXModel" to "gpt_neox".
    const auto plain = [](std::string_view text) {
      std::string letters;
      for (const char c : text) {
        if (c != '_' && c != '-') {
          letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
      }
      return letters;
    };
    std::string stem = plain(classes->value.front());
    for (const std::string_view end : {"forcausallm", "forconditionalgeneration", "lmheadmodel",
                                       "formaskedlm", "model", "forsequenceclassification"}) {
      if (stem.ends_with(end)) {
        stem.resize(stem.size() - end.size());
        break;
      }
    }
    for (const Family& family : families()) {
      if (plain(family.model_type) != stem) continue;
      source = classes->source;
      config.warn(fmt::format("model_type is missing: {} \"{}\" says it is {}", classes->source,
                              classes->value.front(), family.model_type));
      return std::string(family.model_type);
    }
  }
  return Error{ErrorKind::bad_input,
               "model_type is missing and architectures does not tell it: it says how lanes pair, "
               "which no other key does; add a \"model_type\" such as \"llama\" or \"qwen2\""};
}

struct Unread {
  std::string path;
  const Json* value;
};

void find_unread(const Json& object, const std::string& path, const Ledger& ledger,
                 std::vector<Unread>& unread) {
  for (const auto& [key, value] : object.items()) {
    const std::string at = path.empty() ? key : path + "." + key;
    if (ledger.opaque.contains(at)) continue;
    const bool read = ledger.read.contains(at);
    if (value.is_object() && (read || !concerns_positions(key))) {
      find_unread(value, at, ledger, unread);
    } else if (!read && !value.is_null() && concerns_positions(key)) {
      unread.push_back({at, &value});
    }
  }
}

/// Python writes NaN and Infinity, which JSON does not have, into keys that have nothing to do with
/// positions (time_step_limit). They become strings, which no number is read from.
std::string quote_python_numbers(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    size_t taken = 1;
    if (in_string) {
      if (rest[0] == '\\' && rest.size() > 1) taken = 2;
    } else {
      for (const std::string_view number : {"-Infinity", "Infinity", "NaN"}) {
        if (rest.starts_with(number)) taken = number.size();
      }
    }
    if (rest[0] == '"') in_string = !in_string;
    const bool quoted = !in_string && taken > 1 && rest[0] != '\\';
    if (quoted) result += '"';
    result += rest.substr(0, taken);
    if (quoted) result += '"';
    i += taken;
  }
  return result;
}

Result<ModelPositions> read_model(const Json& object) {
  if (!object.is_object()) {
    return Error{ErrorKind::bad_input, fmt::format("expected an object, got {}", describe(object))};
  }
  ModelPositions model;
  Ledger ledger;
  const ConfigReader config(object, "", ledger);
  std::string source;
  HODO_ASSIGN(model.model_type, model_type_of(config, source));
  const Family* family = find_family(model.model_type);
  if (family == nullptr) return unknown_model_type(source, model.model_type);
  const Part whole{config, family, "", &model};
  const bool nested = object.contains("text_config") && object["text_config"].is_object();
  HODO_RETURN_IF_ERROR(nested ? read_composite(whole) : family->read(whole));
  if (model.uses.empty()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} {} has no layer and no part that uses positions", source,
                             model.model_type)};
  }

  std::vector<Unread> unread;
  find_unread(object, "", ledger, unread);
  for (const auto& [path, value] : unread) {
    if (value->is_object() && !value->empty()) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} is a block of parameters that the code of {} is not known to "
                               "read: what it does to positions is not known",
                               path, model.model_type)};
    }
    ledger.warnings.push_back(
        fmt::format("{} is not understood here for {}", path, model.model_type));
  }
  for (std::string& warning : ledger.warnings) {
    const auto& known = model.warnings;
    if (std::find(known.begin(), known.end(), warning) == known.end()) {
      model.warnings.push_back(std::move(warning));
    }
  }
  return model;
}

}  // namespace

std::string Part::use_name(std::string_view name) const {
  if (prefix.empty()) return std::string(name);
  return name == "attention" ? prefix : prefix + "." + std::string(name);
}

std::string Part::customary() const {
  return fmt::format("customary for {}; the file does not say", family->model_type);
}

std::string Part::fixed() const {
  return fmt::format("fixed in the published code of {}", family->model_type);
}

Status add_use(const Part& part, PositionUse use) {
  if (const auto checked = actions(use.spec, 1); !checked.ok()) {
    const std::string where = part.config.path().empty() ? "" : part.config.path() + ": ";
    return Error{checked.error().kind,
                 fmt::format("{}{}: {}", where, use.name, checked.error().message)};
  }
  part.model->uses.push_back(std::move(use));
  return {};
}

Result<ModelPositions> from_hf_config(std::string_view config_json) {
  HODO_ASSIGN(const Json object, parse_json(quote_python_numbers(config_json), "config"));
  Result<ModelPositions> model = read_model(object);
  if (model.ok()) return model;
  return Error{model.error().kind, "config: " + model.error().message};
}

std::vector<SupportedModel> supported_models() {
  std::vector<SupportedModel> list;
  for (const Family& family : families()) {
    list.push_back({std::string(family.model_type),
                    family.layout ? write_json(*family.layout).get<std::string>() : "",
                    std::string(family.note)});
  }
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a.model_type < b.model_type; });
  return list;
}

}  // namespace hodometer
