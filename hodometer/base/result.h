#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace hodometer {

/// What kind of thing went wrong. Faces translate it: an exception class in Python, a status in C,
/// an exit code on the command line.
enum class ErrorKind {
  usage,        ///< the call itself is wrong: shapes, strides, arguments
  bad_input,    ///< outside data is wrong: a key, a value, a truncated file
  unsupported,  ///< the data is understood and this library does not do it
  limit,        ///< a position or length beyond what the method or the data can serve
  io,           ///< the operating system refused a file
};

/// A failure, told as a sentence: the operation, the offending name and value, what was expected
/// and where (a byte offset or a JSON path).
struct Error {
  ErrorKind kind;
  std::string message;
};

/// Either a value or an Error. Nothing in the library throws across its boundary.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; only when ok().
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The failure; only when not ok().
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace hodometer

#define HODO_CONCAT_(a, b) a##b
#define HODO_CONCAT(a, b) HODO_CONCAT_(a, b)

/// Returns from the enclosing function when `expression` (a Status or a Result) failed.
#define HODO_RETURN_IF_ERROR(expression)                        \
  do {                                                          \
    if (auto hodo_outcome = (expression); !hodo_outcome.ok()) { \
      return ::hodometer::Error(hodo_outcome.error());          \
    }                                                           \
  } while (false)

/// `HODO_ASSIGN(auto x, f());`: x is the value of f(), or the enclosing function returns its error.
#define HODO_ASSIGN(target, expression)                                     \
  auto HODO_CONCAT(hodo_result_, __LINE__) = (expression);                  \
  if (!HODO_CONCAT(hodo_result_, __LINE__).ok()) {                          \
    return ::hodometer::Error(HODO_CONCAT(hodo_result_, __LINE__).error()); \
  }                                                                         \
  target = std::move(HODO_CONCAT(hodo_result_, __LINE__)).value()
