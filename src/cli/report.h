// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"

namespace tvllm::cli {

// Prints "tiny-vllm: <message>" on standard error; the exit code for this kind of error.
int report_error(const Error& error);

// Standard output, flushed: streamed text must be seen at once. False when the reader is gone.
bool print(std::string_view text);

// True where a person looks at standard error.
bool stderr_is_terminal();

}  // namespace tvllm::cli
