// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::tokenizer {

// The text of one sequence, token by token. A token may end inside a character: its bytes wait, at
// most three of them, until the next tokens complete the character or show that they cannot.
//
// Incomplete differs from invalid: bytes that no continuation can make a character become U+FFFD at
// once, one for each maximal part (base/utf8.h), else broken output would be held back for ever.
//
// Invariants: (1) what push() and flush() return, joined, is Tokenizer::decode() of all the tokens,
// and the blank of add_space_prefix if they begin a text; (2) each piece is valid UTF-8, so the
// text so far is always a prefix of the text to come. Thread-compatible.
class Detokenizer {
 public:
  // `tokenizer` outlives the detokenizer.
  Detokenizer(const Tokenizer& tokenizer, bool skip_special_tokens)
      : tokenizer_(&tokenizer), skip_special_tokens_(skip_special_tokens) {}

  // The text that `id` completes; often a word, empty while a character is incomplete. An id that
  // the vocabulary does not have adds nothing.
  std::string push(TokenId id);

  // The end of the sequence: U+FFFD if a character is still incomplete. Ready for another sequence.
  std::string flush();

  // The bytes that wait.
  std::string_view incomplete() const { return incomplete_; }

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_tokens_;
  std::string incomplete_;
};

}  // namespace tvllm::tokenizer
