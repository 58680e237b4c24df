#pragma once

#include <string>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/models/model_positions.h"

namespace hodometer::cli {

/// What a model's config.json says: a file, a model folder, or "-". Errors begin with the path.
Result<ModelPositions> read_model(const std::string& path);

/// A spec in its text form; "@file" reads it from a file.
Result<PositionSpec> read_spec(const std::string& text);

}  // namespace hodometer::cli
