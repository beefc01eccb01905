// SPDX-License-Identifier: Apache-2.0
// Template source to tokens, with white space control as Hugging Face sets Jinja up:
// trim_blocks (a newline after %} goes), lstrip_blocks (blanks before {% at the start of a line
// go), and no trailing newline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tvllm::chat_template {

enum class TokenType {
  kData,  // template text between tags, already trimmed
  kBlockBegin,
  kBlockEnd,
  kPrintBegin,
  kPrintEnd,
  kName,
  kString,   // text: what the literal says, escapes decoded
  kInteger,  // text: as written, without underscores
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type = TokenType::kEnd;
  std::string text;
  int line = 1;
};

// The whole source; the last token is kEnd. Comments are gone, {% raw %} has become data.
Result<std::vector<Token>> tokenize(std::string_view source);

// "template, line 3: message": the form of every error that has a place.
Error error_at(ErrorCode code, int line, std::string_view message);

}  // namespace tvllm::chat_template
