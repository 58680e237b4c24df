// Any bytes are either read or refused with a message; what is read lies within them and is what
// the header that we would write says.

#include <cstdint>
#include <cstdlib>
#include <span>

#include "hodometer/formats/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = hodometer::read_npy(std::as_bytes(std::span(data, size)), "input");
  if (!tensor.ok()) {
    if (tensor.error().message.empty()) std::abort();
    return 0;
  }
  if (tensor->offset + tensor->bytes != size) std::abort();
  if (!hodometer::npy_header(tensor->type, tensor->shape).ok()) std::abort();
  return 0;
}
