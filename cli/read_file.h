#pragma once

#include <cstdint>
#include <string>

#include "hodometer/base/result.h"

namespace hodometer::cli {

/// A config.json is a few kilobytes; whatever is larger is something else.
inline constexpr int64_t max_config_bytes = int64_t{64} << 20;
/// Data that people pass to a command by hand.
inline constexpr int64_t max_input_bytes = int64_t{256} << 20;

/// The bytes of a file, or of standard input when the path is "-". Errors (io) name the path and
/// what the system says; a file above `max_bytes` is refused (bad_input) without being read.
Result<std::string> read_file(const std::string& path, int64_t max_bytes);

/// What messages call a path: "standard input" for "-".
std::string input_name(const std::string& path);

/// The config.json of a model folder; any other path unchanged.
std::string config_path(const std::string& path);

}  // namespace hodometer::cli
