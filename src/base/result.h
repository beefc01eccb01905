// SPDX-License-Identifier: Apache-2.0
// Errors of the outside world (a bad file, a bad request, a port in use) as values.
//
// `Result<T>` holds a value or an `Error`; `Status` is the same without a value. Both are
// [[nodiscard]]. The member names are those of std::expected, so that `Result` can become an alias
// once every compiler of the project has it. What is *expected* (no free block, queue full) is an
// ordinary return value instead, and our own bugs are TVLLM_CHECKs (base/check.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tvllm {

enum class ErrorCode {
  kInvalidArgument,    // a request, an option or a file says something impossible
  kContextLength,      // a prompt and its answer that do not fit the model's length
  kNotFound,           // a file, a model name or a path that is not there
  kUnsupported,        // well-formed, but this build or machine cannot do it
  kUnauthenticated,    // missing or wrong API key
  kResourceExhausted,  // a queue or a limit is full: try later
  kTooLarge,           // a header, body or document over its limit
  kUnavailable,        // loading, draining or dead
  kIo,                 // the operating system refused: open, bind, read
  kInternal,           // our own failure that was caught
};

// What went wrong, in one sentence that says what was expected, what was found, and where.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  // The request field, command-line option or file field at fault; empty if there is none.
  std::string param;
};

inline Error make_error(ErrorCode code, std::string message, std::string param = {}) {
  return Error{code, std::move(message), std::move(param)};
}

inline Error invalid_argument(std::string message, std::string param = {}) {
  return make_error(ErrorCode::kInvalidArgument, std::move(message), std::move(param));
}

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value()
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !has_value()
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace tvllm

#define TVLLM_CONCAT_INNER(a, b) a##b
#define TVLLM_CONCAT(a, b) TVLLM_CONCAT_INNER(a, b)

// TVLLM_TRY(auto file, MappedFile::open(path)); returns the error to the caller, or binds the
// value.
#define TVLLM_TRY(lhs, expr) TVLLM_TRY_INNER(lhs, expr, TVLLM_CONCAT(tvllm_try_, __LINE__))
#define TVLLM_TRY_INNER(lhs, expr, tmp)                \
  auto tmp = (expr);                                   \
  if (!tmp.has_value()) return std::move(tmp).error(); \
  lhs = std::move(tmp).value()

#define TVLLM_RETURN_IF_ERROR(expr)                               \
  do {                                                            \
    if (::tvllm::Status status_ = (expr); !status_.has_value()) { \
      return std::move(status_).error();                          \
    }                                                             \
  } while (0)
