// SPDX-License-Identifier: Apache-2.0
// Text from a file, made fit for one line of a terminal or a log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tvllm::loader {

// `text` with what could break or forge a line written as escapes: control characters, line
// separators, characters that turn the writing direction, and bytes that are not UTF-8. Other
// characters stay as they are. What is longer than `max_chars` characters ends in "...".
std::string printable(std::string_view text, std::size_t max_chars = 200);

// 98362432 -> "98,362,432"
std::string with_commas(std::uint64_t value);

}  // namespace tvllm::loader
