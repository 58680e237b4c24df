#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hodometer/base/result.h"
#include "hodometer/formats/file_tensor.h"

namespace hodometer {

/// The array of a .npy file, versions 1 to 3. `bytes` is the whole file, which may be mapped: only
/// the header is touched. The tensor has no name. `what` begins the message of an error.
///
/// Understood: little-endian floats, whole numbers and truth values in C order. Refused with the
/// place: anything else, a header of another form, data of another size than the shape says.
/// Source: numpy.lib.format.
Result<FileTensor> read_npy(std::span<const std::byte> bytes, std::string_view what);

/// The header of a .npy file, version 1; the data follows it in C order. Errors: a type that NumPy
/// does not have, a negative extent.
Result<std::string> npy_header(TensorType type, std::span<const int64_t> shape);

}  // namespace hodometer
