// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tvllm::chat_template {
class ChatTemplate;
}
namespace tvllm::tokenizer {
class Tokenizer;
}

namespace tvllm::server {

// What a model's generation config says for requests that say nothing.
struct GenerationDefaults {
  std::optional<float> temperature{};
  std::optional<float> top_p{};
  std::optional<std::int32_t> top_k{};
  std::optional<float> min_p{};
  std::optional<float> repetition_penalty{};
  std::optional<std::int32_t> max_tokens{};
};

// Settings of the KV cache, for people who look at metrics.
struct CacheInfo {
  std::int32_t block_size = 0;
  std::string dtype = "auto";
  bool enable_prefix_caching = false;
};

// The model behind the API, as far as text needs it. What it points to outlives the server.
struct ServedModel {
  const tokenizer::Tokenizer* tokenizer = nullptr;  // never null
  const chat_template::ChatTemplate* chat_template = nullptr;
  std::string chat_template_error = {};  // why there is no template
  std::int32_t vocab_size = 0;           // width of the logits; the tokenizer may know fewer tokens
  GenerationDefaults defaults = {};
  CacheInfo cache = {};
  std::int64_t created = 0;  // seconds since 1970, for /v1/models
};

}  // namespace tvllm::server
