// SPDX-License-Identifier: Apache-2.0
#include "chat_template/literals.h"

#include <charconv>
#include <optional>

#include "base/strings.h"
#include "base/utf8.h"
#include "chat_template/lexer.h"

namespace tvllm::chat_template {

namespace {

std::optional<char> simple_escape(char c) {
  switch (c) {
    case '\\':
    case '\'':
    case '"':
      return c;
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return std::nullopt;
  }
}

std::size_t num_hex_digits(char kind) {
  if (kind == 'x') return 2;
  if (kind == 'u') return 4;
  return kind == 'U' ? 8 : 0;
}

std::optional<char32_t> parse_number(std::string_view digits, int base) {
  std::uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return static_cast<char32_t>(value);
}

bool is_high_surrogate(char32_t c) {
  return c >= 0xD800 && c < 0xDC00;
}
bool is_low_surrogate(char32_t c) {
  return c >= 0xDC00 && c < 0xE000;
}

// Reads one literal from left to right.
class Decoder {
 public:
  Decoder(std::string_view inside, int line) : rest_(inside), line_(line) {}

  Result<std::string> decode() {
    while (!rest_.empty()) {
      const std::size_t plain = rest_.find('\\');
      out_.append(rest_.substr(0, plain));
      if (plain == std::string_view::npos) break;
      rest_.remove_prefix(plain);
      TVLLM_RETURN_IF_ERROR(decode_escape());
    }
    return std::move(out_);
  }

 private:
  // REQUIRES: rest_ starts with a backslash and another byte
  Status decode_escape() {
    const char kind = rest_[1];
    if (kind == '\n') {
      rest_.remove_prefix(2);
    } else if (const std::optional<char> simple = simple_escape(kind)) {
      out_.push_back(*simple);
      rest_.remove_prefix(2);
    } else if (num_hex_digits(kind) > 0) {
      return decode_hex();
    } else if (kind >= '0' && kind <= '7') {
      decode_octal();
    } else if (kind == 'N') {
      return error_at(ErrorCode::kUnsupported, line_,
                      "a character by name (\\N{...}) is not supported");
    } else {
      out_.push_back('\\');  // not an escape: Python keeps the backslash
      rest_.remove_prefix(1);
    }
    return {};
  }

  Status decode_hex() {
    TVLLM_TRY(const char32_t first, take_hex());
    if (is_high_surrogate(first) && rest_.starts_with("\\u")) {
      TVLLM_TRY(const char32_t second, take_hex());
      if (!is_low_surrogate(second)) return bad_character();
      append_utf8(out_, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
      return {};
    }
    if (first > 0x10FFFF || is_high_surrogate(first) || is_low_surrogate(first)) {
      return bad_character();
    }
    append_utf8(out_, first);
    return {};
  }

  Result<char32_t> take_hex() {
    const std::size_t num_digits = num_hex_digits(rest_[1]);
    const std::optional<char32_t> value = parse_number(rest_.substr(2, num_digits), 16);
    if (!value || rest_.size() < 2 + num_digits) {
      return error_at(ErrorCode::kInvalidArgument, line_,
                      str_cat("expected ", num_digits, " hex digits after \\", rest_.substr(1, 1)));
    }
    rest_.remove_prefix(2 + num_digits);
    return *value;
  }

  void decode_octal() {
    std::size_t num_digits = 1;
    while (num_digits < 3 && 1 + num_digits < rest_.size() && rest_[1 + num_digits] >= '0' &&
           rest_[1 + num_digits] <= '7') {
      ++num_digits;
    }
    append_utf8(out_, parse_number(rest_.substr(1, num_digits), 8).value_or(0));
    rest_.remove_prefix(1 + num_digits);
  }

  Error bad_character() const {
    return error_at(ErrorCode::kInvalidArgument, line_,
                    "an escape names a code point that is no character");
  }

  std::string_view rest_;
  int line_;
  std::string out_;
};

}  // namespace

Result<std::string> decode_string_literal(std::string_view inside, int line) {
  return Decoder(inside, line).decode();
}

Result<std::int64_t> parse_integer_literal(std::string_view text, int line) {
  int base = 10;
  std::string_view digits = text;
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    if (kind == 'x') base = 16;
    if (kind == 'o') base = 8;
    if (kind == 'b') base = 2;
    if (base != 10) digits.remove_prefix(2);
  }
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return error_at(ErrorCode::kInvalidArgument, line,
                    str_cat("the integer ", quoted(text), " does not fit 64 bits"));
  }
  return value;
}

}  // namespace tvllm::chat_template
