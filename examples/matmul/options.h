// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "examples/matmul/matmul.h"

namespace tvllm::examples {

struct MatmulOptions {
  std::optional<MatmulShape> shape;  // default: by the device
  bool is_bf16 = false;
  std::string rung;  // empty: all
  int repeat = 10;
  bool wants_help = false;
};

extern const char* const kMatmulUsage;

// `arguments` without the program's name.
Result<MatmulOptions> parse_matmul_options(std::span<const char* const> arguments);

}  // namespace tvllm::examples
