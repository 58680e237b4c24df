#include "hodometer/kernels/target.h"

#include <cstdlib>
#include <string>

#include "hodometer/kernels/highway_config.h"
#include "hwy/highway.h"

namespace hodometer {
namespace {

int64_t target_by_name(std::string_view name, const std::vector<int64_t>& targets) {
  for (const int64_t target : targets) {
    if (name == hwy::TargetName(target)) return target;
  }
  return 0;
}

Status apply_request() {
  const char* request = std::getenv("HODO_TARGET");
  if (request == nullptr || *request == '\0') return {};
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  const int64_t target = target_by_name(request, targets);
  if (target == 0) {
    std::string message = "HODO_TARGET: no instruction set \"" + std::string(request) +
                          "\" in this build on this machine; expected one of";
    for (const int64_t known : targets) message += std::string(" ") + hwy::TargetName(known);
    return Error{ErrorKind::unsupported, message};
  }
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(target);
  return {};
}

const Status& request_status() {
  static const Status status = apply_request();
  return status;
}

}  // namespace

namespace internal {
void honour_target_request() { request_status(); }
}  // namespace internal

std::string_view target_name() {
  request_status();
  return hwy::TargetName(hwy::SupportedAndGeneratedTargets().front());
}

std::vector<std::string_view> supported_target_names() {
  std::vector<std::string_view> names;
  request_status();
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

Status check_target_request() { return request_status(); }

}  // namespace hodometer
