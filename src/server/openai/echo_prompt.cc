// SPDX-License-Identifier: Apache-2.0
#include "server/openai/echo_prompt.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "output/output_processor.h"
#include "tokenizer/detokenizer.h"

namespace tvllm::server {

namespace {

// Code points of valid UTF-8: what text offsets count.
std::size_t count_chars(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

void fill_echo(const tokenizer::Tokenizer& tokenizer, const std::string* text,
               const std::vector<TokenId>& ids, bool added_special_tokens, bool with_tokens,
               AnswerPrompt& answer) {
  answer.echo_text = text != nullptr ? *text : tokenizer.decode(ids, /*skip_special_tokens=*/false);
  answer.num_echo_chars = count_chars(answer.echo_text);
  if (!with_tokens) return;
  const bool may_have_added = text != nullptr && added_special_tokens;
  const bool added_bos = may_have_added && tokenizer.adds_bos_token();
  const bool added_eos = may_have_added && tokenizer.adds_eos_token();
  tokenizer::Detokenizer detokenizer(tokenizer, /*skip_special_tokens=*/false);
  std::size_t num_chars = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    output::TokenPiece piece;
    piece.id = ids[i];
    piece.bytes = tokenizer.token_bytes(ids[i]);
    piece.text = output::lossy_token_text(tokenizer, ids[i]);
    piece.text_offset = num_chars;
    const bool is_added = (i == 0 && added_bos) || (i + 1 == ids.size() && added_eos);
    if (!is_added) num_chars += count_chars(detokenizer.push(ids[i]));
    answer.echo_tokens.push_back(std::move(piece));
  }
}

}  // namespace tvllm::server
