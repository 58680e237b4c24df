#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "hodometer/base/result.h"
#include "hodometer/tools/inspect.h"

namespace hodometer::cli {

/// A file that was looked at: its report, or why there is none.
struct Inspected {
  std::string path;
  Result<ModelReport> report;
};

/// One model for a person to read from top to bottom.
std::string report_text(const Inspected& model, const Console& console);

/// Several models, a line for each use, so that they can be compared.
std::string comparison_text(const std::vector<Inspected>& models, const Console& console);

}  // namespace hodometer::cli
