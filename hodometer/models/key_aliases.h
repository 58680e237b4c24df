#pragma once

#include <string_view>
#include <vector>

namespace hodometer {

/// What a null means where the canonical key is read.
enum class NullMeans {
  absent,  ///< as if the key were not there: Hugging Face's code tests for None
  error,   ///< Hugging Face's code computes with it, so a null is a slip
};

/// The spellings of one quantity in the config files of different model families.
struct KeySpellings {
  std::string_view name;                    ///< the canonical name, by which the library calls it
  std::vector<std::string_view> spellings;  ///< equal in rank: two that disagree are an error
  std::vector<std::string_view> fallbacks;  ///< read when no spelling is there
  NullMeans null = NullMeans::absent;
};

/// The row of a canonical name. A name without a row has one spelling: itself.
KeySpellings key_spellings(std::string_view name);

/// Whether a key looks as if it said something about positions, by its name. Such a key that
/// nobody read is reported.
bool concerns_positions(std::string_view key);

/// The parameters that any rope type has, by which a key of another type is told from a slip.
bool is_rope_parameter(std::string_view key);

}  // namespace hodometer
