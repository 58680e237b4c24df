#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/formats/file_tensor.h"

namespace hodometer {

/// What a safetensors file holds, without its data.
struct SafetensorsFile {
  std::vector<std::pair<std::string, std::string>> metadata;  ///< in the order of the file
  std::vector<FileTensor> tensors;                            ///< in the order of the file
  uint64_t data_begin = 0;                                    ///< where the data starts
};

/// Reads the header of a safetensors file. `bytes` is the whole file, which may be mapped: only the
/// header is touched. `what` begins the message of an error.
///
/// Refused with the place: a header that is longer than the file or than 100 MB, anything but the
/// members of the format, an unknown dtype, offsets that do not fit the shape, lie outside,
/// overlap or leave bytes that belong to no tensor, names and members that appear twice.
/// Source: the safetensors crate, which writes and checks the format.
Result<SafetensorsFile> read_safetensors(std::span<const std::byte> bytes, std::string_view what);

/// One entry of a model.safetensors.index.json: a tensor and the file of the folder that holds it.
struct ShardEntry {
  std::string tensor;
  std::string file;
};

/// Reads the text of a model.safetensors.index.json. A file name that would lead out of the folder
/// is refused.
Result<std::vector<ShardEntry>> read_safetensors_index(std::string_view json,
                                                       std::string_view what);

}  // namespace hodometer
