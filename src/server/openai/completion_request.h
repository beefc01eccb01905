// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "server/openai/generation_fields.h"

namespace tvllm::server {

using TextOrTokens = std::variant<std::string, std::vector<TokenId>>;

// The body of POST /v1/completions.
struct CompletionRequest {
  GenerationFields fields;
  std::vector<TextOrTokens> prompts;  // at least one
};

Result<CompletionRequest> parse_completion_request(std::string_view body,
                                                   const RequestLimits& limits);

}  // namespace tvllm::server
