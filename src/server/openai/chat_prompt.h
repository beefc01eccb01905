// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "server/openai/chat_request.h"
#include "server/served_model.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::server {

struct ChatPrompt {
  std::string text;
  // What the client wrote: no control token is read there.
  std::vector<tokenizer::ByteRange> literal_ranges;
};

// The conversation through the model's template (or the request's own, where that is trusted). A
// template that refuses it, or costs too much, is the client's error, with the template's own
// words.
Result<ChatPrompt> render_conversation(const Conversation& conversation, const ServedModel& model);

}  // namespace tvllm::server
