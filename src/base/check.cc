// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdlib>

#include "base/log.h"

namespace tvllm {

void check_failed(const char* file, int line, const char* condition,
                  std::string_view values) noexcept {
  log(LogLevel::kError,
      str_cat(file, ":", line, ": check failed: ", condition, values.empty() ? "" : ": ", values));
  flush_log();
  std::abort();
}

}  // namespace tvllm
