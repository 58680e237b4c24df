#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/models/model_positions.h"

namespace hodometer {

/// What a Hugging Face config.json says about order, with the key that every value came from.
///
/// Reads the old form (rope_theta, rope_scaling with "type" or "rope_type"), the new one
/// (rope_parameters, flat or per layer type), the keys of single families and nested configs.
/// `config_json` is the text of the file.
///
/// An unknown model_type or rope type, a key that contradicts another, a wrong type, a null where
/// a value is computed with, a list of the wrong length and a missing key that nothing fixes are
/// errors that name the key. A key that looks as if it were about positions and that the family's
/// published code does not read is a warning.
/// Source of behaviour: Hugging Face transformers 4 and 5, per family.
Result<ModelPositions> from_hf_config(std::string_view config_json);

/// One model_type that from_hf_config knows.
struct SupportedModel {
  std::string model_type;
  std::string layout;  ///< "half_split", "interleaved", or empty when nothing rotates
  std::string note;    ///< what is peculiar; empty when nothing is
};

/// Every model_type that from_hf_config knows, sorted.
std::vector<SupportedModel> supported_models();

}  // namespace hodometer
