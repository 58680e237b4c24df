#include "hodometer/capi/guard-inl.h"

#include <fmt/format.h>

namespace hodometer::capi {
namespace {

/// The last failure of this thread, and what is said when there is no memory for a sentence.
struct LastError {
  std::string message;
  bool lost = false;
};
LastError& last_error() {
  thread_local LastError error;
  return error;
}

hodo_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return HODO_USAGE;
    case ErrorKind::bad_input:
      return HODO_BAD_INPUT;
    case ErrorKind::unsupported:
      return HODO_UNSUPPORTED;
    case ErrorKind::limit:
      return HODO_LIMIT;
    case ErrorKind::io:
      return HODO_IO;
  }
  return HODO_INTERNAL;
}

}  // namespace

hodo_status fail(hodo_status status, std::string_view message) noexcept {
  LastError& error = last_error();
  try {
    error.message.assign(message);
    error.lost = false;
  } catch (...) {
    error.lost = true;
  }
  return status;
}

hodo_status fail(const Error& error) noexcept { return fail(status_of(error.kind), error.message); }

char* copy_of(std::string_view text) {
  char* copy = new char[text.size() + 1];
  copy[text.copy(copy, text.size())] = '\0';
  return copy;
}

Status check_given(std::string_view operation, std::string_view name, const void* argument) {
  if (argument != nullptr) return {};
  return Error{ErrorKind::usage,
               fmt::format("{}: {} is NULL: expected a pointer", operation, name)};
}

}  // namespace hodometer::capi

extern "C" {

const char* hodo_last_error(void) {
  const auto& error = hodometer::capi::last_error();
  return error.lost ? "out of memory" : error.message.c_str();
}

void hodo_string_free(char* text) { delete[] text; }

}  // extern "C"
