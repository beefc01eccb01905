// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "output/logprob_aligner.h"

namespace tvllm::server {

enum class ApiKind { kChat, kCompletion };

// One prompt of a request, as the answer needs it.
struct AnswerPrompt {
  std::int32_t num_tokens = 0;
  std::vector<TokenId> token_ids;  // under return_token_ids
  // Under echo: the text that stands before each choice's own; with log-probabilities also its
  // tokens.
  std::string echo_text;
  std::size_t num_echo_chars = 0;
  std::vector<output::TokenPiece> echo_tokens;
};

// How the answer to one request looks. A value; immutable once the request runs.
//
// Choices are numbered prompt by prompt: choice i belongs to prompt i / n.
struct AnswerForm {
  ApiKind api = ApiKind::kCompletion;
  std::string id;  // "chatcmpl-..." or "cmpl-..."
  std::string model;
  std::int64_t created = 0;
  std::string role = "assistant";  // of a chat's answer

  bool stream = false;
  bool include_usage = false;
  bool continuous_usage_stats = false;
  bool prompt_tokens_details = false;

  std::optional<std::int32_t> num_logprobs;  // shown beside the chosen token
  bool has_prompt_logprobs = false;          // as a field of their own
  bool echo = false;
  bool echo_only = false;  // max_tokens 0: nothing but the prompt
  bool return_tokens_as_token_ids = false;
  bool return_token_ids = false;

  std::vector<AnswerPrompt> prompts;
  std::size_t n = 1;

  std::size_t num_choices() const { return prompts.size() * n; }
  const AnswerPrompt& prompt_of(std::size_t choice) const { return prompts[choice / n]; }
};

}  // namespace tvllm::server
