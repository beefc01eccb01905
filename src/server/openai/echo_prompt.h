// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "server/openai/answer_form.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::server {

// Fills what `echo` shows of a prompt: its text (`text` as the client wrote it, or the decoded ids)
// and, with `with_tokens`, each token with its place in that text. A BOS or EOS that the tokenizer
// added has no place of its own.
void fill_echo(const tokenizer::Tokenizer& tokenizer, const std::string* text,
               const std::vector<TokenId>& ids, bool added_special_tokens, bool with_tokens,
               AnswerPrompt& answer);

}  // namespace tvllm::server
