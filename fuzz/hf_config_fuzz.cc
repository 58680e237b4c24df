// Any bytes are either explained or refused with a message; what is explained can be computed.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hodometer/models/from_hf_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = hodometer::from_hf_config({reinterpret_cast<const char*>(data), size});
  if (!model.ok()) {
    if (model.error().message.empty()) std::abort();
    return 0;
  }
  for (const hodometer::PositionUse& use : model->uses) {
    if (!hodometer::actions(use.spec, 4096).ok()) std::abort();
  }
  return 0;
}
