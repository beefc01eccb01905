// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/prompts.h"

namespace tvllm::bench {

// What `bench serve` asks for beside the prompt.
struct CompletionOptions {
  std::string model = {};
  bool is_chat = false;  // the prompt is the one message of a chat
  bool ignore_eos = false;
  std::optional<std::int32_t> logprobs = {};
  std::vector<std::pair<std::string, double>> sampling = {};  // "temperature", ...
  std::string extra_body = {};  // a JSON object whose members go over all others; empty: none
};

// The bodies of streamed requests for each prompt, whose usage is told at the end. An error says
// what is wrong with `extra_body`.
Result<std::vector<std::string>> completion_bodies(const CompletionOptions& options,
                                                   const std::vector<BenchPrompt>& prompts);

// The id of the first model in an answer of /v1/models; nothing if there is none.
std::optional<std::string> first_model_id(std::string_view body);

}  // namespace tvllm::bench
