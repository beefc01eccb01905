// SPDX-License-Identifier: Apache-2.0
// What Python's str knows about characters (tables: tools/gen_case_tables.py).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tvllm::chat_template {

bool is_space(char32_t c);      // str.isspace, and \s of a regular expression
bool is_printable(char32_t c);  // shown as it is by repr()
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_cased(char32_t c);  // upper, lower or title case
bool is_case_ignorable(char32_t c);
bool is_alpha(char32_t c);
bool is_digit(char32_t c);
bool is_alnum(char32_t c);

// One character may become up to three (sharp s -> SS); unused places are 0.
using CaseForm = std::array<char32_t, 3>;
CaseForm to_upper(char32_t c);
CaseForm to_lower(char32_t c);
CaseForm to_title(char32_t c);

// One character of a text, by its place. Bytes that are not UTF-8 count as one character each.
struct Char {
  char32_t code_point = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};
// REQUIRES: at < text.size()
Char char_at(std::string_view text, std::size_t at);
// The character that ends at `end`. REQUIRES: end > 0
Char char_before(std::string_view text, std::size_t end);

std::size_t count_chars(std::string_view text);

// The first byte at or after `at` that begins no white space; the end of what does not end in it.
std::size_t skip_space(std::string_view text, std::size_t at);
std::size_t end_without_space(std::string_view text);

}  // namespace tvllm::chat_template
