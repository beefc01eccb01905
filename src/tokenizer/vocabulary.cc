// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocabulary.h"

#include <limits>
#include <utility>

#include "base/strings.h"
#include "tokenizer/byte_alphabet.h"

namespace tvllm::tokenizer {

Result<Vocabulary> Vocabulary::create(std::vector<std::string> texts,
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

  Vocabulary vocabulary;
  vocabulary.texts_ = std::move(texts);
  vocabulary.types_ = std::move(types);
  vocabulary.byte_begins_.reserve(vocabulary.texts_.size() + 1);
  vocabulary.byte_level_.reserve(vocabulary.texts_.size());
  vocabulary.ids_.reserve(vocabulary.texts_.size());
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.text(id);
    vocabulary.ids_.emplace(text, id);
    std::optional<std::string> translated;
    if (!vocabulary.is_added(id)) translated = alphabet_to_bytes(text);
    const std::string_view bytes = translated ? std::string_view(*translated) : text;
    vocabulary.byte_level_.push_back(translated.has_value());
    vocabulary.byte_begins_.push_back(vocabulary.bytes_.size());
    vocabulary.bytes_.insert(vocabulary.bytes_.end(), bytes.begin(), bytes.end());
  }
  vocabulary.byte_begins_.push_back(vocabulary.bytes_.size());
  return vocabulary;
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  const auto it = ids_.find(text);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace tvllm::tokenizer
