// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tvllm::chat_template {

// What the inside of a quoted literal says: Python's escapes (\n, \x41, \u00e9, \101 ...).
Result<std::string> decode_string_literal(std::string_view inside, int line);

// 42, 0x2a, 0o52, 0b101010, without underscores.
Result<std::int64_t> parse_integer_literal(std::string_view text, int line);

}  // namespace tvllm::chat_template
