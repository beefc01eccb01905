// SPDX-License-Identifier: Apache-2.0
#include "chat_template/lexer.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"
#include "chat_template/literals.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_char(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit_of(char c, int base) {
  if (base == 16) return is_ascii_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
  return c >= '0' && c < '0' + base;
}

// \r\n and \r become \n; one newline at the end is dropped.
std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out.push_back('\n');
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

// The end of a tag, however it is written: where it begins, and where the source goes on after it.
struct TagEnd {
  std::size_t begin = std::string_view::npos;
  std::size_t end = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (pos_ < source_.size())
      TVLLM_RETURN_IF_ERROR(lex_text());
    emit(TokenType::kEnd, "end of template");
    return std::move(tokens_);
  }

 private:
  Status lex_text();
  Status lex_comment();
  Status lex_raw(std::size_t content);
  Status lex_tag(bool is_block);
  Status lex_token();
  Status lex_string();
  Status lex_number();
  Status lex_operator();

  std::size_t find_tag() const;
  std::size_t raw_content_begin(std::size_t after_sign) const;
  TagEnd match_tag_end(std::size_t at, std::string_view closing, bool is_block) const;
  std::string_view strip_before_tag(std::string_view text, char sign, bool is_print) const;
  Status track_bracket(char c);

  char char_or_nul(std::size_t at) const { return at < source_.size() ? source_[at] : '\0'; }
  std::string_view rest() const { return source_.substr(pos_); }
  void emit(TokenType type, std::string_view text) {
    tokens_.push_back({type, std::string(text), line_});
  }
  // Moves on, counting lines; what follows starts a line if a newline was passed last.
  void advance_to(std::size_t pos) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(pos_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(pos), '\n'));
    at_line_start_ = pos > pos_ && source_[pos - 1] == '\n';
    pos_ = pos;
  }
  Error syntax_error(std::string_view message) const {
    return error_at(ErrorCode::kInvalidArgument, line_, message);
  }

  std::string_view source_;
  std::size_t pos_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;
  std::string brackets_;  // the closing ones still expected, innermost last
  std::vector<Token> tokens_;
};

std::size_t Lexer::find_tag() const {
  for (std::size_t at = source_.find('{', pos_); at != std::string_view::npos;
       at = source_.find('{', at + 1)) {
    const char next = char_or_nul(at + 1);
    if (next == '%' || next == '{' || next == '#') return at;
  }
  return std::string_view::npos;
}

std::string_view Lexer::strip_before_tag(std::string_view text, char sign, bool is_print) const {
  if (sign == '-') return text.substr(0, end_without_space(text));
  if (sign == '+' || is_print) return text;
  const std::size_t newline = text.rfind('\n');
  if (newline == std::string_view::npos && !at_line_start_) return text;
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  return skip_space(text, line_begin) == text.size() ? text.substr(0, line_begin) : text;
}

Status Lexer::lex_text() {
  const std::size_t tag = find_tag();
  if (tag == std::string_view::npos) {
    emit(TokenType::kData, rest());
    advance_to(source_.size());
    return {};
  }
  const char kind = source_[tag + 1];
  const char sign = char_or_nul(tag + 2);
  const std::size_t after_sign = tag + (sign == '-' || sign == '+' ? 3 : 2);
  const std::string_view data =
      strip_before_tag(source_.substr(pos_, tag - pos_), sign, kind == '{');
  if (!data.empty()) emit(TokenType::kData, data);
  advance_to(tag);

  if (kind == '%') {
    const std::size_t content = raw_content_begin(after_sign);
    if (content != std::string_view::npos) return lex_raw(content);
  }
  advance_to(after_sign);
  return kind == '#' ? lex_comment() : lex_tag(kind == '%');
}

// Where the content of {% raw %} begins, or npos if this tag is another one.
std::size_t Lexer::raw_content_begin(std::size_t after_sign) const {
  std::size_t at = skip_space(source_, after_sign);
  if (!source_.substr(at).starts_with("raw")) return std::string_view::npos;
  at = skip_space(source_, at + 3);
  if (source_.substr(at).starts_with("-%}")) return skip_space(source_, at + 3);
  return source_.substr(at).starts_with("%}") ? at + 2 : std::string_view::npos;
}

// `closing` ("%}", "}}" or "#}") at `at`, with its sign, and the white space that it takes along.
TagEnd Lexer::match_tag_end(std::size_t at, std::string_view closing, bool is_block) const {
  const std::string_view here = source_.substr(at);
  if (here.starts_with('-') && here.substr(1).starts_with(closing)) {
    return {at, skip_space(source_, at + 1 + closing.size())};
  }
  if (is_block && here.starts_with('+') && here.substr(1).starts_with(closing)) {
    return {at, at + 1 + closing.size()};
  }
  if (!here.starts_with(closing)) return {};
  const std::size_t end = at + closing.size();
  return {at, is_block && char_or_nul(end) == '\n' ? end + 1 : end};
}

Status Lexer::lex_comment() {
  for (std::size_t at = pos_; at < source_.size(); ++at) {
    if (const TagEnd end = match_tag_end(at, "#}", true); end.begin != std::string_view::npos) {
      advance_to(end.end);
      return {};
    }
  }
  return syntax_error("a comment is never closed: expected '#}'");
}

Status Lexer::lex_raw(std::size_t content) {
  const int raw_line = line_;
  advance_to(content);
  for (std::size_t tag = source_.find("{%", pos_); tag != std::string_view::npos;
       tag = source_.find("{%", tag + 1)) {
    const char sign = char_or_nul(tag + 2);
    std::size_t at = skip_space(source_, tag + (sign == '-' || sign == '+' ? 3 : 2));
    if (!source_.substr(at).starts_with("endraw")) continue;
    at = skip_space(source_, at + 6);
    const TagEnd end = match_tag_end(at, "%}", true);
    if (end.begin == std::string_view::npos) continue;
    const std::string_view data = strip_before_tag(source_.substr(pos_, tag - pos_), sign, false);
    if (!data.empty()) emit(TokenType::kData, data);
    advance_to(end.end);
    return {};
  }
  line_ = raw_line;
  return syntax_error("a raw block is never closed: expected '{% endraw %}'");
}

Status Lexer::lex_tag(bool is_block) {
  emit(is_block ? TokenType::kBlockBegin : TokenType::kPrintBegin, is_block ? "{%" : "{{");
  brackets_.clear();
  const std::string_view closing = is_block ? "%}" : "}}";
  while (pos_ < source_.size()) {
    if (brackets_.empty()) {
      const TagEnd end = match_tag_end(pos_, closing, is_block);
      if (end.begin != std::string_view::npos) {
        emit(is_block ? TokenType::kBlockEnd : TokenType::kPrintEnd, closing);
        // Only blocks take a newline along; {{ x }} keeps it.
        advance_to(end.end);
        return {};
      }
    }
    const std::size_t next = skip_space(source_, pos_);
    if (next > pos_) {
      advance_to(next);
    } else {
      TVLLM_RETURN_IF_ERROR(lex_token());
    }
  }
  return {};  // the parser says what is missing
}

Status Lexer::lex_token() {
  const char c = source_[pos_];
  if (is_ascii_digit(c)) return lex_number();
  if (is_name_char(c)) {
    std::size_t end = pos_;
    while (is_name_char(char_or_nul(end)))
      ++end;
    emit(TokenType::kName, source_.substr(pos_, end - pos_));
    advance_to(end);
    return {};
  }
  if (c == '\'' || c == '"') return lex_string();
  return lex_operator();
}

Status Lexer::lex_string() {
  const char quote = source_[pos_];
  std::size_t end = pos_ + 1;
  while (end < source_.size() && source_[end] != quote)
    end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) return syntax_error("a string is never closed");
  TVLLM_TRY(std::string text,
            decode_string_literal(source_.substr(pos_ + 1, end - pos_ - 1), line_));
  emit(TokenType::kString, text);
  advance_to(end + 1);
  return {};
}

// Digits with single underscores between them; returns where they end.
std::size_t scan_digits(std::string_view source, std::size_t at, int base) {
  const auto is_digit_at = [source, base](std::size_t i) {
    return i < source.size() && is_digit_of(source[i], base);
  };
  while (is_digit_at(at)) {
    ++at;
    if (at < source.size() && source[at] == '_' && is_digit_at(at + 1)) ++at;
  }
  return at;
}

// Where the fraction and exponent of a float end; `whole_end` if there are none.
std::size_t scan_float_tail(std::string_view source, std::size_t whole_end) {
  std::size_t end = whole_end;
  const auto char_is = [source](std::size_t at, std::string_view set) {
    return at < source.size() && set.find(source[at]) != std::string_view::npos;
  };
  if (char_is(end, ".")) {
    const std::size_t fraction_end = scan_digits(source, end + 1, 10);
    if (fraction_end == end + 1) return whole_end;
    end = fraction_end;
  }
  if (char_is(end, "eE")) {
    const std::size_t digits = end + (char_is(end + 1, "+-") ? 2 : 1);
    const std::size_t exponent_end = scan_digits(source, digits, 10);
    if (exponent_end > digits) end = exponent_end;
  }
  return end;
}

Status Lexer::lex_number() {
  const char kind = static_cast<char>(char_or_nul(pos_ + 1) | 0x20);
  const bool after_dot = pos_ > 0 && source_[pos_ - 1] == '.';
  std::size_t end = scan_digits(source_, pos_, 10);
  TokenType type = TokenType::kInteger;
  if (const std::size_t tail = scan_float_tail(source_, end); tail > end && !after_dot) {
    type = TokenType::kFloat;
    end = tail;
  } else if (source_[pos_] == '0' && (kind == 'x' || kind == 'o' || kind == 'b')) {
    const int base = kind == 'x' ? 16 : (kind == 'o' ? 8 : 2);
    const std::size_t digits = pos_ + (char_or_nul(pos_ + 2) == '_' ? 3 : 2);
    const std::size_t digits_end = scan_digits(source_, digits, base);
    if (digits_end > digits) end = digits_end;
  } else if (source_[pos_] == '0') {
    end = pos_ + 1;  // 00 is zero, 01 is a zero and a one, as in Jinja
    while (char_or_nul(end) == '0' || (char_or_nul(end) == '_' && char_or_nul(end + 1) == '0')) {
      ++end;
    }
  }
  std::string text(source_.substr(pos_, end - pos_));
  std::erase(text, '_');
  emit(type, text);
  advance_to(end);
  return {};
}

Status Lexer::lex_operator() {
  constexpr std::string_view kTwoChars[] = {"**", "//", "==", "!=", ">=", "<="};
  constexpr std::string_view kOneChar = "+-*/%~[](){}><=.:|,;";
  for (const std::string_view two : kTwoChars) {
    if (!rest().starts_with(two)) continue;
    emit(TokenType::kOperator, two);
    advance_to(pos_ + 2);
    return {};
  }
  const char c = source_[pos_];
  if (kOneChar.find(c) == std::string_view::npos) {
    const Char unknown = char_at(source_, pos_);
    return syntax_error(str_cat("unexpected character ",
                                quoted(source_.substr(pos_, unknown.end - unknown.begin))));
  }
  TVLLM_RETURN_IF_ERROR(track_bracket(c));
  emit(TokenType::kOperator, source_.substr(pos_, 1));
  advance_to(pos_ + 1);
  return {};
}

Status Lexer::track_bracket(char c) {
  if (c == '(') brackets_.push_back(')');
  if (c == '[') brackets_.push_back(']');
  if (c == '{') brackets_.push_back('}');
  if (c != ')' && c != ']' && c != '}') return {};
  if (brackets_.empty()) return syntax_error(str_cat("unexpected '", c, "'"));
  if (brackets_.back() != c) {
    return syntax_error(str_cat("unexpected '", c, "', expected '", brackets_.back(), "'"));
  }
  brackets_.pop_back();
  return {};
}

}  // namespace

Error error_at(ErrorCode code, int line, std::string_view message) {
  return make_error(code, str_cat("chat template, line ", line, ": ", message));
}

Result<std::vector<Token>> tokenize(std::string_view source) {
  if (!is_valid_utf8(source)) {
    return invalid_argument("chat template: the source is not UTF-8");
  }
  const std::string normalized = normalize_newlines(source);
  return Lexer(normalized).run();
}

}  // namespace tvllm::chat_template
