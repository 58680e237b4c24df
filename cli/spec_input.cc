#include "cli/spec_input.h"

#include "cli/read_file.h"
#include "hodometer/models/from_hf_config.h"

namespace hodometer::cli {

Result<ModelPositions> read_model(const std::string& path) {
  const std::string file = config_path(path);
  HODO_ASSIGN(const std::string text, read_file(file, max_config_bytes));
  Result<ModelPositions> model = from_hf_config(text);
  if (model.ok()) return model;
  return Error{model.error().kind, input_name(file) + ": " + model.error().message};
}

Result<PositionSpec> read_spec(const std::string& text) {
  if (!text.starts_with('@')) return parse_spec(text);
  const std::string file = text.substr(1);
  if (file.empty()) return Error{ErrorKind::usage, "spec: got '@', expected @FILE"};
  HODO_ASSIGN(const std::string content, read_file(file, max_config_bytes));
  Result<PositionSpec> spec = parse_spec(content);
  if (spec.ok()) return spec;
  return Error{spec.error().kind, input_name(file) + ": " + spec.error().message};
}

}  // namespace hodometer::cli
