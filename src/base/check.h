// SPDX-License-Identifier: Apache-2.0
// Checks of our own programming errors. Nothing that a client or a file can say may reach one:
// input is validated with `Result` (base/result.h) first.
#pragma once

#include <string_view>

#include "base/strings.h"

namespace tvllm {

// Prints the failed condition with its values and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view values) noexcept;

}  // namespace tvllm

// TVLLM_CHECK(ref_count > 0, "block ", id): in all builds.
#define TVLLM_CHECK(condition, ...)                                                         \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      ::tvllm::check_failed(__FILE__, __LINE__, #condition, ::tvllm::str_cat(__VA_ARGS__)); \
    }                                                                                       \
  } while (0)

// TVLLM_DCHECK: in debug builds and sanitizer builds.
#ifdef NDEBUG
#define TVLLM_DCHECK(condition, ...) \
  do {                               \
    (void)sizeof(!(condition));      \
  } while (0)
#else
#define TVLLM_DCHECK(condition, ...) TVLLM_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif
