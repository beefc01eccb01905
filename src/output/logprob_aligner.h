// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "core/step_result.h"

namespace tvllm::output {

// One token of an answer, as log-probabilities show it.
struct TokenPiece {
  TokenId id = kNoToken;
  // The token's own text, alone: U+FFFD where it holds part of a character.
  std::string text;
  // Its bytes, always right. In the tokenizer, which outlives the piece.
  std::string_view bytes;
  // Where its text begins in the text of the choice, in characters (code points), as OpenAI and
  // vLLM count. A token that begins inside a character has the place of that character.
  std::size_t text_offset = 0;
  std::optional<PositionLogprobs> logprobs;
};

// Holds tokens, with their log-probabilities, for as long as text that they are part of is held: a
// client that is shown a token has all of its text, and none that is not released shows through its
// token. Positions are bytes of the choice's text. Thread-compatible.
class LogprobAligner {
 public:
  // The next token. Its text is complete once `num_bytes` bytes of all tokens' are.
  void add(TokenPiece piece, std::size_t num_bytes);

  // The first `num_bytes` bytes of the tokens have become text, which is now `text_len` long.
  void complete(std::size_t num_bytes, std::size_t text_len);

  // Appends to `out` the tokens whose text lies whole in the first `text_len` bytes.
  void release(std::size_t text_len, std::vector<TokenPiece>& out);

  // Appends all that is held: the end.
  void release_all(std::vector<TokenPiece>& out);

  std::size_t num_held() const { return held_.size(); }

 private:
  struct Held {
    TokenPiece piece;
    std::size_t num_bytes = 0;
    std::size_t text_len = 0;  // of the text that has all of its bytes; set by complete()
  };

  void release_first(std::size_t count, std::vector<TokenPiece>& out);

  std::vector<Held> held_;
  std::size_t num_complete_ = 0;  // the first of held_, whose text_len is set
};

}  // namespace tvllm::output
