// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocabulary.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "tokenizer/byte_alphabet.h"

namespace tvllm::tokenizer {

namespace {

// "<0x0A>" is one byte.
std::optional<std::string> byte_of(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    if (c >= '0' && c <= '9') {
      value = 16 * value + (c - '0');
    } else if (c >= 'A' && c <= 'F') {
      value = 16 * value + (c - 'A') + 10;
    } else {
      return std::nullopt;
    }
  }
  return std::string(1, static_cast<char>(value));
}

}  // namespace

std::string unescape_blanks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    const std::size_t blank = text.find(kEscapedBlank);
    out += text.substr(0, blank);
    if (blank == std::string_view::npos) return out;
    out += ' ';
    text.remove_prefix(blank + kEscapedBlank.size());
  }
}

Result<std::unique_ptr<const Vocabulary>> Vocabulary::create(std::vector<std::string> texts,
                                                             std::vector<TokenType> types,
                                                             TokenWriting writing) {
  if (texts.empty()) return invalid_argument("tokenizer: the vocabulary is empty");
  if (texts.size() > static_cast<std::size_t>(std::numeric_limits<TokenId>::max())) {
    return invalid_argument(str_cat("tokenizer: the vocabulary has ", texts.size(),
                                    " tokens, more than a token id can count"));
  }
  if (types.size() != texts.size()) {
    return invalid_argument(str_cat("tokenizer: expected a type for each of ", texts.size(),
                                    " tokens, found ", types.size(), " types"));
  }
  return std::unique_ptr<const Vocabulary>(
      new Vocabulary(std::move(texts), std::move(types), writing));
}

Vocabulary::Vocabulary(std::vector<std::string> texts, std::vector<TokenType> types,
                       TokenWriting writing)
    : texts_(std::move(texts)), types_(std::move(types)), by_text_(texts_.size()) {
  byte_begins_.reserve(texts_.size() + 1);
  byte_level_.reserve(texts_.size());
  for (TokenId id = 0; id < size(); ++id) {
    by_text_.insert(id, [this](TokenId other) { return text(other); });
    std::optional<std::string> translated;
    if (writing == TokenWriting::kByteAlphabet) {
      if (!is_added(id)) translated = alphabet_to_bytes(text(id));
    } else if (type(id) == TokenType::kByte) {
      translated = byte_of(text(id));
    } else if (!is_special(id) && text(id).find(kEscapedBlank) != std::string_view::npos) {
      translated = unescape_blanks(text(id));
    }
    const std::string_view token_bytes = translated ? std::string_view(*translated) : text(id);
    byte_level_.push_back(writing == TokenWriting::kByteAlphabet && translated.has_value());
    byte_begins_.push_back(bytes_.size());
    bytes_.insert(bytes_.end(), token_bytes.begin(), token_bytes.end());
  }
  byte_begins_.push_back(bytes_.size());
}

std::optional<TokenId> Vocabulary::find(std::string_view token_text) const {
  return by_text_.find(token_text, [this](TokenId id) { return text(id); });
}

}  // namespace tvllm::tokenizer
