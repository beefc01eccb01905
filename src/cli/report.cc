// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <unistd.h>

#include <cstdio>

#include "base/strings.h"
#include "cli/verbs.h"

namespace tvllm::cli {

int report_error(const Error& error) {
  const std::string line = str_cat("tiny-vllm: ", error.message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kContextLength:
    case ErrorCode::kNotFound:
    case ErrorCode::kUnsupported:
    case ErrorCode::kTooLarge:
      return kExitBadInput;
    case ErrorCode::kIo:
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kUnavailable:
    case ErrorCode::kInternal:
      return kExitFailure;
  }
  return kExitFailure;
}

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

bool stderr_is_terminal() {
  return isatty(STDERR_FILENO) == 1;
}

}  // namespace tvllm::cli
