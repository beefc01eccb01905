// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tokenizer/vocabulary.h"

namespace tvllm::tokenizer {

// Finds tokens of some types in text, control tokens say: the earliest, of those the longest. Owned
// by Tokenizer. Immutable, thread-safe.
//
// The texts are kept sorted, so those that share a prefix stand together: a search walks the text
// and narrows that span byte by byte, as in a trie. find() over a text takes time linear in it,
// times at most the length of the longest token.
class AddedTokens {
 public:
  // Those tokens of which `includes` says yes, by their bytes. Keeps views of these: `vocabulary`
  // outlives this.
  AddedTokens(const Vocabulary& vocabulary, bool (*includes)(TokenType));

  bool empty() const { return tokens_.empty(); }

  struct Match {
    std::size_t begin;
    std::size_t end;
    TokenId id;
  };
  // The first match that begins at or after `from` and ends in `text`.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  struct Token {
    std::string_view text;
    TokenId id;
  };
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::optional<Match> match_at(std::string_view text, std::size_t begin) const;

  std::vector<Token> tokens_;            // sorted by text, each text once
  std::array<Span, 256> by_first_byte_;  // the tokens that begin with a byte
};

}  // namespace tvllm::tokenizer
