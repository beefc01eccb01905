// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat_template/value.h"
#include "server/openai/generation_fields.h"

namespace tvllm::server {

class JsonReader;

struct ChatMessage {
  std::string role;
  std::string text;  // the text parts joined, without a separator
  bool has_content = true;
  // Every other member as it was sent: name, tool_calls, tool_call_id, reasoning_content, ...
  std::vector<std::pair<std::string, chat_template::Value>> members;
  // The content as a list of parts, for templates that want one; empty if it came as a string.
  std::vector<chat_template::Value> parts;
};

// What a chat template is rendered from.
struct Conversation {
  std::vector<ChatMessage> messages;  // at least one
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  // Variables for the template: chat_template_kwargs and documents.
  std::vector<std::pair<std::string, chat_template::Value>> variables;
  std::string chat_template;  // the request's own, where that is trusted; else empty
};

// The body of POST /v1/chat/completions.
struct ChatRequest {
  GenerationFields fields;
  Conversation conversation;
};

Result<ChatRequest> parse_chat_request(std::string_view body, const RequestLimits& limits);

// The part that /tokenize has too.
void read_conversation(JsonReader& reader, const RequestLimits& limits, Conversation& conversation);

}  // namespace tvllm::server
