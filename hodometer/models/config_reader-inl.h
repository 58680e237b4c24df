#pragma once

// Private: a config file read key by key, with a record of what was read. Not installed.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hodometer/base/json-inl.h"
#include "hodometer/base/result.h"
#include "hodometer/models/key_aliases.h"
#include "hodometer/models/model_positions.h"

namespace hodometer {

/// A value with where it came from.
template <class T>
struct Sourced {
  T value;
  Origin origin = Origin::file;
  std::string source;
};

/// What the readers of one file share: which keys were read, and what is worth saying.
struct Ledger {
  std::set<std::string, std::less<>> read;    ///< paths of keys
  std::set<std::string, std::less<>> opaque;  ///< paths of sections that are said to be unread
  std::vector<std::string> warnings;
};

/// One object of a config file. Names are canonical: every spelling of key_aliases is looked for,
/// and two spellings with different values are an error.
class ConfigReader {
 public:
  ConfigReader(const Json& object, std::string path, Ledger& ledger)
      : object_(&object), path_(std::move(path)), ledger_(&ledger) {}

  /// The value of a key, or nothing when it is absent or a null that means absent.
  template <class T>
  Result<std::optional<Sourced<T>>> find(std::string_view name) const;

  /// The value of a key that must be there; `why` ends the message when it is not.
  template <class T>
  Result<Sourced<T>> require(std::string_view name, std::string_view why) const;

  /// The value of a key, or what the family's published code takes in its absence.
  template <class T>
  Result<Sourced<T>> find_or(std::string_view name, T otherwise, std::string_view reason) const;

  /// An object inside this one; nothing when absent or null.
  Result<std::optional<ConfigReader>> section(std::string_view key) const;

  /// Whether the key is there and null.
  bool is_null(std::string_view key) const;

  /// Whether any spelling of the key is there and not null.
  bool has(std::string_view name) const;

  /// Says that a key is understood although nothing was taken from it.
  void mark_read(std::string_view name) const;

  /// The path of a key of this object: "text_config.rope_theta".
  std::string at(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

  const Json& object() const { return *object_; }
  const std::string& path() const { return path_; }
  Ledger& ledger() const { return *ledger_; }

  void warn(std::string message) const { ledger_->warnings.push_back(std::move(message)); }

 private:
  const Json* object_;
  std::string path_;
  Ledger* ledger_;
};

template <class T>
Result<std::optional<Sourced<T>>> ConfigReader::find(std::string_view name) const {
  const KeySpellings row = key_spellings(name);
  for (const auto* group : {&row.spellings, &row.fallbacks}) {
    std::optional<Sourced<T>> found;
    for (const std::string_view key : *group) {
      const auto member = object_->find(std::string(key));
      if (member == object_->end()) continue;
      ledger_->read.insert(at(key));
      if (member->is_null() && row.null == NullMeans::absent) continue;
      T value{};
      HODO_RETURN_IF_ERROR(read_json(*member, at(key), value));
      if (found && found->value != value) {
        return Error{
            ErrorKind::bad_input,
            fmt::format(
                "{} is {} and {} is {}: both mean {}, so they must agree", found->source,
                object_->at(found->source.substr(path_.empty() ? 0 : path_.size() + 1)).dump(),
                at(key), member->dump(), name)};
      }
      if (!found) found = Sourced<T>{std::move(value), Origin::file, at(key)};
    }
    if (found) return found;
  }
  return std::optional<Sourced<T>>();
}

template <class T>
Result<Sourced<T>> ConfigReader::require(std::string_view name, std::string_view why) const {
  HODO_ASSIGN(std::optional<Sourced<T>> found, find<T>(name));
  if (found) return *std::move(found);
  return Error{
      ErrorKind::bad_input,
      fmt::format("{} is missing{}: {}", at(key_spellings(name).spellings.front()),
                  is_null(key_spellings(name).spellings.front()) ? " (it is null)" : "", why)};
}

template <class T>
Result<Sourced<T>> ConfigReader::find_or(std::string_view name, T otherwise,
                                         std::string_view reason) const {
  HODO_ASSIGN(std::optional<Sourced<T>> found, find<T>(name));
  if (found) return *std::move(found);
  return Sourced<T>{std::move(otherwise), Origin::assumed, std::string(reason)};
}

/// A number of tokens or rows: at least 1 where it is given.
inline Result<std::optional<Sourced<int64_t>>> find_length(const ConfigReader& config,
                                                           std::string_view name) {
  HODO_ASSIGN(auto length, config.find<int64_t>(name));
  if (!length || length->value >= 1) return length;
  return Error{ErrorKind::bad_input,
               fmt::format("{} is {}: expected at least 1", length->source, length->value)};
}

/// The text of a value for a Setting.
template <class T>
std::string setting_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, double>) {
    // Whole numbers without an exponent, as people write them.
    if (value == std::nearbyint(value) && std::fabs(value) < 1e15) {
      return fmt::format("{}", static_cast<int64_t>(value));
    }
    return fmt::format("{}", value);
  } else {
    return write_json(value).dump();
  }
}

template <class T>
Setting setting(std::string name, const Sourced<T>& value) {
  return {std::move(name), setting_text(value.value), value.origin, value.source};
}

}  // namespace hodometer
