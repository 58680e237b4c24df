// Any bytes are either read or refused with a message; what is read lies within them.

#include <cstdint>
#include <cstdlib>
#include <span>

#include "hodometer/formats/dequantise.h"
#include "hodometer/formats/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = hodometer::read_gguf(bytes, "input");
  if (!file.ok()) {
    if (file.error().message.empty()) std::abort();
    return 0;
  }
  for (const hodometer::GgufKey& key : file->keys) {
    const auto* array = std::get_if<hodometer::GgufArray>(&key.value);
    if (array == nullptr) continue;
    const auto numbers = hodometer::gguf_numbers(*array);
    if (numbers.ok() && numbers->size() != array->count) std::abort();
    const auto texts = hodometer::gguf_strings(*array);
    if (texts.ok() && texts->size() != array->count) std::abort();
  }
  for (const hodometer::FileTensor& tensor : file->tensors) {
    if (tensor.bytes > size || tensor.offset > size - tensor.bytes) std::abort();
    if (tensor.bytes > 0 && hodometer::can_dequantise(tensor.type) &&
        !hodometer::dequantise_row(bytes, tensor, 0).ok()) {
      std::abort();
    }
  }
  return 0;
}
