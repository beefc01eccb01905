// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace tvllm::cli {

// `argument` itself, or all of standard input if it is "-" (at most 64 MiB).
Result<std::string> read_input(const std::string& argument);

}  // namespace tvllm::cli
