#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/formats/tensor_type.h"

namespace hodometer {

/// A tensor of a model file: what it is and where its bytes lie.
struct FileTensor {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<int64_t> shape;  ///< slowest dimension first, as in NumPy
  uint64_t offset = 0;         ///< of its first byte, from the start of the file
  uint64_t bytes = 0;
};

/// Whether the data of a file may have bytes that no tensor uses.
enum class Gaps : uint8_t { allowed, refused };

/// Whether every tensor lies within [begin, end) of the file, none overlaps another and no name
/// appears twice. `what` begins the message of an error, which gives the byte offset.
Status check_tensors(std::span<const FileTensor> tensors, uint64_t begin, uint64_t end, Gaps gaps,
                     std::string_view what);

/// The tensor of that name, or null.
const FileTensor* find_tensor(std::span<const FileTensor> tensors, std::string_view name);

/// The name of outside data for a message: in quotes, escaped, and cut when it is long.
std::string quoted_name(std::string_view name);

}  // namespace hodometer
