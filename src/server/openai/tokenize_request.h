// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "server/openai/chat_request.h"

namespace tvllm::server {

// The body of POST /tokenize: a text, or a conversation.
struct TokenizeRequest {
  std::string model;
  std::string prompt;
  std::optional<Conversation> conversation;  // instead of `prompt`
  std::optional<bool> add_special_tokens;    // default: true for a text, false for a conversation
  bool return_token_strs = false;
};

// The body of POST /detokenize.
struct DetokenizeRequest {
  std::string model;
  std::vector<TokenId> tokens;
};

Result<TokenizeRequest> parse_tokenize_request(std::string_view body, const RequestLimits& limits);
Result<DetokenizeRequest> parse_detokenize_request(std::string_view body);

}  // namespace tvllm::server
