#include "hodometer/models/config_reader-inl.h"

namespace hodometer {

Result<std::optional<ConfigReader>> ConfigReader::section(std::string_view key) const {
  const auto member = object_->find(std::string(key));
  if (member == object_->end()) return std::optional<ConfigReader>();
  ledger_->read.insert(at(key));
  if (member->is_null()) return std::optional<ConfigReader>();
  if (!member->is_object()) return json_internal::wrong_type(at(key), "an object or null", *member);
  return std::optional(ConfigReader(*member, at(key), *ledger_));
}

bool ConfigReader::is_null(std::string_view key) const {
  const auto member = object_->find(std::string(key));
  return member != object_->end() && member->is_null();
}

bool ConfigReader::has(std::string_view name) const {
  const KeySpellings row = key_spellings(name);
  for (const auto* group : {&row.spellings, &row.fallbacks}) {
    for (const std::string_view key : *group) {
      const auto member = object_->find(std::string(key));
      if (member != object_->end() && !member->is_null()) return true;
    }
  }
  return false;
}

void ConfigReader::mark_read(std::string_view name) const {
  const KeySpellings row = key_spellings(name);
  for (const auto* group : {&row.spellings, &row.fallbacks}) {
    for (const std::string_view key : *group) ledger_->read.insert(at(key));
  }
}

}  // namespace hodometer
