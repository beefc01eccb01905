// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tvllm::bench {

// The first two turns of a conversation.
struct Conversation {
  std::string question;
  std::string answer;
};

// A file of ShareGPT's form: [{"conversations": [{"from": "human", "value": "..."}, ...]}, ...].
// Conversations of fewer than two turns are left out, as in vLLM.
Result<std::vector<Conversation>> read_share_gpt(const std::string& path);
// `name` stands for the text in errors.
Result<std::vector<Conversation>> parse_share_gpt(std::string_view text, std::string_view name);

}  // namespace tvllm::bench
