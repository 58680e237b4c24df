#include "hodometer/capi/guard-inl.h"
#include "hodometer/models/from_hf_config.h"
#include "hodometer/tools/inspect.h"

using namespace hodometer;

extern "C" {

hodo_status hodo_config_read(const char* json, size_t size, char** text) {
  return capi::guard([&]() -> Status {
    std::span<const char> given;
    HODO_RETURN_IF_ERROR(capi::to_span("hodo_config_read", "json", json, size, given));
    HODO_RETURN_IF_ERROR(capi::check_given("hodo_config_read", "text", text));
    HODO_ASSIGN(const ModelPositions model, from_hf_config({given.data(), given.size()}));
    HODO_ASSIGN(const ModelReport report, inspect(model));
    *text = capi::copy_of(report_json(report));
    return {};
  });
}

}  // extern "C"
