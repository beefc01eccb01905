// SPDX-License-Identifier: Apache-2.0
#include "server/openai/chat_prompt.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "chat_template/chat_template.h"

namespace tvllm::server {

using chat_template::ChatTemplate;
using chat_template::ContentFormat;
using chat_template::Rendered;
using chat_template::Text;
using chat_template::Value;

namespace {

using Members = std::vector<std::pair<Text, Value>>;

// A template that branches on a missing content means the assistant's calls; elsewhere an empty
// string is what it can print.
Value content_value(const ChatMessage& message, bool wants_parts) {
  const bool has_calls =
      std::any_of(message.members.begin(), message.members.end(),
                  [](const auto& member) { return member.first == "tool_calls"; });
  if (!message.has_content && has_calls) return Value::none();
  if (!wants_parts) return Value::input_string(message.text);
  if (!message.parts.empty()) return Value::list(message.parts);
  return Value::list({Value::dict(
      {{Text("type"), Value::string("text")}, {Text("text"), Value::input_string(message.text)}})});
}

Value message_value(const ChatMessage& message, bool wants_parts) {
  Members members;
  members.emplace_back(Text("role"), Value::input_string(message.role));
  members.emplace_back(Text("content"), content_value(message, wants_parts));
  for (const auto& [name, value] : message.members)
    members.emplace_back(Text::input(name), value);
  return Value::dict(std::move(members));
}

Value globals(const Conversation& conversation, const ServedModel& model, bool wants_parts) {
  std::vector<Value> messages;
  messages.reserve(conversation.messages.size());
  for (const ChatMessage& message : conversation.messages)
    messages.push_back(message_value(message, wants_parts));

  Members members;
  members.emplace_back(Text("messages"), Value::list(std::move(messages)));
  members.emplace_back(Text("add_generation_prompt"),
                       Value::boolean(conversation.add_generation_prompt));
  members.emplace_back(Text("tools"), Value::none());
  members.emplace_back(Text("documents"), Value::none());
  const auto add_special = [&](const char* name, std::optional<TokenId> id) {
    if (id)
      members.emplace_back(Text(name),
                           Value::string(std::string(model.tokenizer->token_bytes(*id))));
  };
  add_special("bos_token", model.tokenizer->bos_token_id());
  add_special("eos_token", model.tokenizer->eos_token_id());
  add_special("pad_token", model.tokenizer->padding_token_id());
  add_special("unk_token", model.tokenizer->unknown_token_id());
  for (const auto& [name, value] : conversation.variables)
    members.emplace_back(Text::input(name), value);
  return Value::dict(std::move(members));
}

Error template_error(const Error& error) {
  return invalid_argument(str_cat("The chat template refused the messages: ", error.message),
                          "messages");
}

std::string_view strip(std::string_view text, bool at_front, bool at_back) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  if (at_front) text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (at_back) {
    const std::size_t last = text.find_last_not_of(kBlanks);
    text = last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
  }
  return text;
}

// Cuts the text behind the final message, as HF transformers does it, so that the model goes on
// writing there. A template may have trimmed the message.
Status cut_behind(const ChatMessage& message, Rendered& rendered) {
  const std::string_view stripped = strip(message.text, true, true);
  const std::size_t at = stripped.empty() ? std::string::npos : rendered.text.rfind(stripped);
  if (at == std::string::npos) {
    return invalid_argument(
        "continue_final_message needs a final message that stands in the rendered conversation",
        "continue_final_message");
  }
  const std::string_view with_end = strip(message.text, true, false);
  const bool keeps_end = std::string_view(rendered.text).substr(at).starts_with(with_end);
  const std::size_t end = at + (keeps_end ? with_end.size() : stripped.size());
  rendered.text.resize(end);
  auto& ranges = rendered.input_ranges;
  while (!ranges.empty() && ranges.back().begin >= end)
    ranges.pop_back();
  if (!ranges.empty()) ranges.back().end = std::min(ranges.back().end, end);
  return {};
}

}  // namespace

Result<ChatPrompt> render_conversation(const Conversation& conversation, const ServedModel& model) {
  std::optional<ChatTemplate> own;
  const ChatTemplate* chosen = model.chat_template;
  if (!conversation.chat_template.empty()) {
    auto parsed = ChatTemplate::parse(conversation.chat_template);
    if (!parsed) return invalid_argument(parsed.error().message, "chat_template");
    chosen = &own.emplace(std::move(*parsed));
  }
  if (chosen == nullptr) {
    return make_error(ErrorCode::kUnsupported,
                      str_cat("This model cannot chat: ", model.chat_template_error.empty()
                                                              ? "it has no chat template"
                                                              : model.chat_template_error));
  }
  const bool wants_parts = chosen->content_format() == ContentFormat::kParts;
  auto result = chosen->render(globals(conversation, model, wants_parts));
  if (!result) return template_error(result.error());
  Rendered rendered = std::move(*result);
  if (conversation.continue_final_message) {
    TVLLM_RETURN_IF_ERROR(cut_behind(conversation.messages.back(), rendered));
  }
  ChatPrompt prompt;
  prompt.text = std::move(rendered.text);
  for (const auto& range : rendered.input_ranges)
    prompt.literal_ranges.push_back({range.begin, range.end});
  return prompt;
}

}  // namespace tvllm::server
