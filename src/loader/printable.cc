// SPDX-License-Identifier: Apache-2.0
#include "loader/printable.h"

#include <algorithm>

#include "base/utf8.h"

namespace tvllm::loader {

namespace {

bool is_plain(char32_t c) {
  if (c < 0x20 || c == '\\' || c == 0x7f) return false;
  if (c >= 0x80 && c < 0xa0) return false;       // C1 controls
  if (c >= 0x200b && c <= 0x200f) return false;  // zero width, direction marks
  if (c >= 0x2028 && c <= 0x202e) return false;  // line separators, direction overrides
  if (c >= 0x2060 && c <= 0x206f) return false;  // invisible operators, direction isolates
  return c != 0xfeff;
}

void append_hex(std::string& out, char32_t value, int num_digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 4 * (num_digits - 1); shift >= 0; shift -= 4)
    out += kDigits[(value >> shift) & 15];
}

void append_escaped(std::string& out, char32_t c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\\':
      out += "\\\\";
      return;
    default:
      break;
  }
  if (c < 0x80) {
    out += "\\x";
    append_hex(out, c, 2);
  } else {
    out += "\\u";
    append_hex(out, c, 4);
  }
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_chars) {
  std::string out;
  out.reserve(std::min(text.size(), max_chars) + 8);
  for (std::size_t num_chars = 0; !text.empty(); ++num_chars) {
    if (num_chars == max_chars) return out + "...";
    const Utf8Char c = decode_utf8(text);
    const auto num_bytes = static_cast<std::size_t>(c.num_bytes);
    if (c.state != Utf8State::kComplete) {
      for (const char byte : text.substr(0, num_bytes)) {
        out += "\\x";
        append_hex(out, static_cast<unsigned char>(byte), 2);
      }
    } else if (is_plain(c.code_point)) {
      out.append(text.substr(0, num_bytes));
    } else {
      append_escaped(out, c.code_point);
    }
    text.remove_prefix(num_bytes);
  }
  return out;
}

std::string with_commas(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace tvllm::loader
