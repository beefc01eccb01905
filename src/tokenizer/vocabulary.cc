// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocabulary.h"

#include <limits>
#include <utility>

#include "base/strings.h"
#include "tokenizer/byte_alphabet.h"

namespace tvllm::tokenizer {

Result<std::unique_ptr<const Vocabulary>> Vocabulary::create(std::vector<std::string> texts,
                                                             std::vector<TokenType> types) {
  if (texts.empty()) return invalid_argument("tokenizer: the vocabulary is empty");
  if (texts.size() > static_cast<std::size_t>(std::numeric_limits<TokenId>::max())) {
    return invalid_argument(str_cat("tokenizer: the vocabulary has ", texts.size(),
                                    " tokens, more than a token id can count"));
  }
  if (types.size() != texts.size()) {
    return invalid_argument(str_cat("tokenizer: expected a type for each of ", texts.size(),
                                    " tokens, found ", types.size(), " types"));
  }
  return std::unique_ptr<const Vocabulary>(new Vocabulary(std::move(texts), std::move(types)));
}

Vocabulary::Vocabulary(std::vector<std::string> texts, std::vector<TokenType> types)
    : texts_(std::move(texts)), types_(std::move(types)), by_text_(texts_.size()) {
  byte_begins_.reserve(texts_.size() + 1);
  byte_level_.reserve(texts_.size());
  for (TokenId id = 0; id < size(); ++id) {
    by_text_.insert(id, [this](TokenId other) { return text(other); });
    std::optional<std::string> translated;
    if (!is_added(id)) translated = alphabet_to_bytes(text(id));
    const std::string_view token_bytes = translated ? std::string_view(*translated) : text(id);
    byte_level_.push_back(translated.has_value());
    byte_begins_.push_back(bytes_.size());
    bytes_.insert(bytes_.end(), token_bytes.begin(), token_bytes.end());
  }
  byte_begins_.push_back(bytes_.size());
}

std::optional<TokenId> Vocabulary::find(std::string_view token_text) const {
  return by_text_.find(token_text, [this](TokenId id) { return text(id); });
}

}  // namespace tvllm::tokenizer
