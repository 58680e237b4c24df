// Any bytes are either read or refused with a message; what is read lies within them.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "hodometer/formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = hodometer::read_safetensors(std::as_bytes(std::span(data, size)), "input");
  if (!file.ok() && file.error().message.empty()) std::abort();
  if (file.ok()) {
    for (const hodometer::FileTensor& tensor : file->tensors) {
      if (tensor.bytes > size || tensor.offset > size - tensor.bytes) std::abort();
    }
  }
  const auto index =
      hodometer::read_safetensors_index({reinterpret_cast<const char*>(data), size}, "input");
  if (!index.ok() && index.error().message.empty()) std::abort();
  return 0;
}
