// SPDX-License-Identifier: Apache-2.0
#include "server/openai/api_error.h"

#include <string_view>

#include "base/strings.h"
#include "server/json_writer.h"

namespace tvllm::server {

namespace {

std::string_view error_type(int status) {
  if (status == 429) return "rate_limit_error";
  if (status == 503) return "service_unavailable_error";
  if (status >= 500) return "server_error";
  return "invalid_request_error";
}

// What programs switch on; empty for null.
std::string_view error_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return {};
    case ErrorCode::kContextLength:
      return "context_length_exceeded";
    case ErrorCode::kNotFound:
      return error.param == "model" ? "model_not_found" : "not_found";
    case ErrorCode::kUnsupported:
      return "unsupported_value";
    case ErrorCode::kUnauthenticated:
      return "invalid_api_key";
    case ErrorCode::kResourceExhausted:
      return "rate_limit_exceeded";
    case ErrorCode::kTooLarge:
      return "request_too_large";
    case ErrorCode::kUnavailable:
      return "service_unavailable";
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return "internal_error";
  }
  return {};
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kContextLength:
    case ErrorCode::kUnsupported:
      return 400;
    case ErrorCode::kUnauthenticated:
      return 401;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kTooLarge:
      return 413;
    case ErrorCode::kResourceExhausted:
      return 429;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

namespace {

std::string error_body_of_status(int status, const Error& error) {
  std::string out = R"({"error":{"message":)";
  append_json_string(out, error.message);
  str_append(out, R"(,"type":")", error_type(status), R"(","param":)");
  if (error.param.empty()) {
    out += "null";
  } else {
    append_json_string(out, error.param);
  }
  const std::string_view code = error_code(error);
  if (code.empty()) {
    out += R"(,"code":null}})";
  } else {
    str_append(out, R"(,"code":")", code, R"("}})");
  }
  return out;
}

}  // namespace

std::string error_body(const Error& error) {
  return error_body_of_status(http_status(error.code), error);
}

HttpResponse error_response(int status, const Error& error) {
  HttpResponse response{.status = status, .body = error_body_of_status(status, error)};
  if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", "1");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse error_response(const Error& error) {
  return error_response(http_status(error.code), error);
}

}  // namespace tvllm::server
