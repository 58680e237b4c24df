#pragma once

// Private: what every function of the C interface is made of. Not installed.

#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "hodometer/base/result.h"
#include "hodometer/capi/hodometer_c.h"

namespace hodometer::capi {

/// Keeps the message for hodo_last_error(). Never throws.
hodo_status fail(hodo_status status, std::string_view message) noexcept;

hodo_status fail(const Error& error) noexcept;

/// Runs body, a function that returns Status, and lets nothing escape.
template <class Body>
hodo_status guard(const Body& body) noexcept {
  try {
    const Status status = body();
    return status.ok() ? HODO_OK : fail(status.error());
  } catch (const std::bad_alloc&) {
    return fail(HODO_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(HODO_INTERNAL, error.what());
  } catch (...) {
    return fail(HODO_INTERNAL, "an exception of an unknown type");
  }
}

/// An enum of C as the C++ one with the same numbers, or an error.
template <class To>
Status to_enum(std::string_view operation, std::string_view name, int value, int count, To& out) {
  if (value < 0 || value >= count) {
    return Error{ErrorKind::usage, std::string(operation) + ": " + std::string(name) + " is " +
                                       std::to_string(value) + ": expected 0 to " +
                                       std::to_string(count - 1)};
  }
  out = static_cast<To>(value);
  return {};
}

/// A copy that hodo_string_free() frees. Throws bad_alloc, which guard() catches.
char* copy_of(std::string_view text);

/// That an argument is not NULL.
Status check_given(std::string_view operation, std::string_view name, const void* argument);

/// An array of a caller, that may be NULL when it is empty.
template <class T>
Status to_span(std::string_view operation, std::string_view name, T* data, size_t size,
               std::span<T>& out) {
  if (size > 0) HODO_RETURN_IF_ERROR(check_given(operation, name, data));
  if (size > static_cast<size_t>(PTRDIFF_MAX) / sizeof(T)) {
    return Error{ErrorKind::usage, std::string(operation) + ": " + std::string(name) + " has " +
                                       std::to_string(size) +
                                       " values: expected an array in memory"};
  }
  out = std::span<T>(data, size);
  return {};
}

}  // namespace hodometer::capi
