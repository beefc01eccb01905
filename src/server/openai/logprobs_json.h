// SPDX-License-Identifier: Apache-2.0
// Log-probabilities in the three shapes that the API has.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/step_result.h"
#include "output/logprob_aligner.h"
#include "server/openai/answer_form.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::server {

// Chat: {"content":[{"token","logprob","bytes","top_logprobs":[...]}],"refusal":null}
void append_chat_logprobs(std::string& out, std::span<const output::TokenPiece> tokens,
                          const AnswerForm& form, const tokenizer::Tokenizer& tokenizer);

// Completions: {"text_offset":[],"token_logprobs":[],"tokens":[],"top_logprobs":[]}. A top entry
// has the token itself and the best ones, so up to one more than asked for. `offset_base` is where
// the text of `tokens` begins in the choice's text. The prompt's first token has no
// log-probability.
void append_completion_logprobs(std::string& out, std::span<const output::TokenPiece> tokens,
                                std::size_t offset_base, const AnswerForm& form,
                                const tokenizer::Tokenizer& tokenizer);

// vLLM's prompt_logprobs: [null,{"504":{"logprob","rank","decoded_token"},...},...]
void append_prompt_logprobs(std::string& out, std::span<const PositionLogprobs> positions,
                            const tokenizer::Tokenizer& tokenizer);

// The prompt's tokens with the log-probabilities that came for positions 1 and on.
std::vector<output::TokenPiece> with_logprobs(std::vector<output::TokenPiece> tokens,
                                              std::span<const PositionLogprobs> positions);

}  // namespace tvllm::server
