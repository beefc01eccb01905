// SPDX-License-Identifier: Apache-2.0
#include "server/openai/chat_request.h"

#include <algorithm>
#include <array>
#include <optional>

#include <boost/json.hpp>

#include "base/strings.h"
#include "server/openai/json_reader.h"
#include "server/openai/json_to_value.h"

namespace tvllm::server {

namespace json = boost::json;
using chat_template::Text;
using chat_template::Value;

namespace {

// Variables and functions that the server or the template language gives; a request that could set
// them would forge messages or control tokens.
constexpr std::array<std::string_view, 22> kReservedVariables = {"messages",
                                                                 "tools",
                                                                 "documents",
                                                                 "add_generation_prompt",
                                                                 "continue_final_message",
                                                                 "tokenize",
                                                                 "bos_token",
                                                                 "eos_token",
                                                                 "chat_template",
                                                                 "raise_exception",
                                                                 "pad_token",
                                                                 "unk_token",
                                                                 "range",
                                                                 "strftime_now",
                                                                 "return_dict",
                                                                 "namespace",
                                                                 "dict",
                                                                 "lipsum",
                                                                 "cycler",
                                                                 "joiner",
                                                                 "loop",
                                                                 "self"};

std::string as_string(const json::string& text) {
  return std::string(text.data(), text.size());
}

// {"type": "text", "text": "..."}; what is no text is refused by name.
Status read_part(const json::value& value, const std::string& param, ChatMessage& message) {
  std::string text;
  if (const json::string* plain = value.if_string()) {
    text = as_string(*plain);
  } else {
    const json::object* part = value.if_object();
    if (part == nullptr) return wrong_type(param, "an object or a string", value);
    JsonReader reader(*part, param);
    std::optional<std::string> type;
    reader.read("type", type);
    TVLLM_RETURN_IF_ERROR(reader.status());
    if (!type) return invalid_argument(str_cat(param, ".type is required"), param + ".type");
    if (type->starts_with("image")) {
      return make_error(ErrorCode::kUnsupported,
                        str_cat(param, ": images are not supported by this model"), param);
    }
    const bool is_refusal = *type == "refusal";
    if (*type != "text" && *type != "input_text" && *type != "output_text" && !is_refusal) {
      return make_error(
          ErrorCode::kUnsupported,
          str_cat(param, ": parts of type ", quoted(*type), " are not supported; only text is"),
          param);
    }
    const char* member = is_refusal ? "refusal" : "text";
    std::optional<std::string> given;
    reader.read(member, given);
    TVLLM_RETURN_IF_ERROR(reader.status());
    if (!given) {
      return invalid_argument(str_cat(param, ".", member, " is required"),
                              str_cat(param, ".", member));
    }
    text = std::move(*given);
  }
  message.text += text;
  message.parts.push_back(Value::dict({{Text("type"), Value::string("text")},
                                       {Text("text"), Value::input_string(std::move(text))}}));
  return {};
}

Status read_content(const JsonReader& reader, ChatMessage& message) {
  const json::value* content = reader.find("content");
  message.has_content = content != nullptr;
  if (content == nullptr) return {};
  if (const json::string* text = content->if_string()) {
    message.text = as_string(*text);
    return {};
  }
  const std::string param = reader.param("content");
  const json::array* parts = content->if_array();
  if (parts == nullptr) return wrong_type(param, "a string or a list of parts", *content);
  for (std::size_t i = 0; i < parts->size(); ++i)
    TVLLM_RETURN_IF_ERROR(read_part((*parts)[i], str_cat(param, "[", i, "]"), message));
  return {};
}

// Templates expect a call's arguments as an object; OpenAI's clients send them as JSON text.
Status parse_call_arguments(json::value& calls, const std::string& param) {
  json::array* items = calls.if_array();
  if (items == nullptr) return wrong_type(param, "a list", calls);
  for (std::size_t i = 0; i < items->size(); ++i) {
    const std::string path = str_cat(param, "[", i, "]");
    json::object* call = (*items)[i].if_object();
    if (call == nullptr) return wrong_type(path, "an object", (*items)[i]);
    json::value* function = call->if_contains("function");
    if (function == nullptr) continue;
    if (!function->is_object()) return wrong_type(path + ".function", "an object", *function);
    json::value* arguments = function->get_object().if_contains("arguments");
    if (arguments == nullptr || !arguments->is_string()) continue;
    if (arguments->get_string().empty()) {
      *arguments = json::object();
      continue;
    }
    auto parsed = parse_json_object(as_string(arguments->get_string()));
    if (!parsed) {
      const std::string where = path + ".function.arguments";
      return invalid_argument(str_cat(where, " is not a JSON object in text"), where);
    }
    *arguments = std::move(*parsed);
  }
  return {};
}

Result<ChatMessage> read_message(const json::value& value, const std::string& path) {
  const json::object* object = value.if_object();
  if (object == nullptr) return wrong_type(path, "an object", value);
  JsonReader reader(*object, path);
  ChatMessage message;
  std::optional<std::string> role;
  reader.read("role", role);
  TVLLM_RETURN_IF_ERROR(reader.status());
  if (!role || role->empty()) {
    return invalid_argument(str_cat(path, ".role is required"), path + ".role");
  }
  message.role = std::move(*role);
  TVLLM_RETURN_IF_ERROR(read_content(reader, message));
  if (!message.has_content && message.role != "assistant") {
    return invalid_argument(str_cat(path, ".content is required"), path + ".content");
  }

  for (const json::key_value_pair& member : *object) {
    const std::string name(member.key().data(), member.key().size());
    if (name == "role" || name == "content" || member.value().is_null()) continue;
    const std::string param = reader.param(name);
    json::value copy = member.value();
    if (name == "tool_calls") TVLLM_RETURN_IF_ERROR(parse_call_arguments(copy, param));
    TVLLM_TRY(Value converted, json_to_value(copy, param));
    message.members.emplace_back(name, std::move(converted));
  }
  return message;
}

Status read_variables(const JsonReader& reader, Conversation& conversation) {
  if (const json::value* kwargs = reader.find("chat_template_kwargs")) {
    const json::object* members = kwargs->if_object();
    if (members == nullptr) return wrong_type("chat_template_kwargs", "an object", *kwargs);
    for (const json::key_value_pair& member : *members) {
      const std::string name(member.key().data(), member.key().size());
      const std::string param = str_cat("chat_template_kwargs.", name);
      if (std::find(kReservedVariables.begin(), kReservedVariables.end(), name) !=
          kReservedVariables.end()) {
        return invalid_argument(str_cat("chat_template_kwargs must not set ", quoted(name)),
                                "chat_template_kwargs");
      }
      TVLLM_TRY(Value value, json_to_value(member.value(), param));
      conversation.variables.emplace_back(name, std::move(value));
    }
  }
  if (const json::value* documents = reader.find("documents")) {
    if (!documents->is_array()) return wrong_type("documents", "a list", *documents);
    TVLLM_TRY(Value value, json_to_value(*documents, "documents"));
    conversation.variables.emplace_back("documents", std::move(value));
  }
  return {};
}

Status read_messages(const JsonReader& reader, Conversation& conversation) {
  const json::value* messages = reader.find("messages");
  if (messages == nullptr) return invalid_argument("messages is required", "messages");
  const json::array* items = messages->if_array();
  if (items == nullptr) return wrong_type("messages", "a list", *messages);
  if (items->empty()) return invalid_argument("messages must hold at least one", "messages");
  for (std::size_t i = 0; i < items->size(); ++i) {
    TVLLM_TRY(ChatMessage message, read_message((*items)[i], str_cat("messages[", i, "]")));
    conversation.messages.push_back(std::move(message));
  }
  return {};
}

// "logprobs" is a switch here, and "top_logprobs" the number.
void read_chat_logprobs(JsonReader& reader, const RequestLimits& limits, GenerationFields& fields) {
  bool logprobs = false;
  reader.read("logprobs", logprobs);
  std::optional<std::int64_t> top;
  reader.read("top_logprobs", top, limits.max_logprobs == kAllLogprobs ? kAllLogprobs : 0,
              limits.max_logprobs == kAllLogprobs ? INT32_MAX : limits.max_logprobs);
  if (top.value_or(0) != 0 && !logprobs) {
    reader.fail(invalid_argument("top_logprobs needs logprobs to be true", "top_logprobs"));
  }
  if (logprobs) fields.num_logprobs = top.value_or(0);
}

void refuse_what_chat_cannot(JsonReader& reader) {
  constexpr std::string_view kNotYet = "is not supported by this server";
  for (const char* name : {"tools", "functions", "audio", "web_search_options"}) {
    reader.refuse(name, kNotYet);
  }
  const json::value* choice = reader.find("tool_choice");
  if (choice != nullptr) {
    const json::string* text = choice->if_string();
    if (text == nullptr || (*text != "auto" && *text != "none")) {
      reader.fail(make_error(ErrorCode::kUnsupported,
                             "tool_choice needs tools, which are not "
                             "supported by this server",
                             "tool_choice"));
    }
  }
  if (const json::value* modalities = reader.find("modalities")) {
    const json::array* items = modalities->if_array();
    const bool is_text =
        items != nullptr && std::all_of(items->begin(), items->end(), [](const json::value& item) {
          return item.is_string() && item.get_string() == "text";
        });
    if (!is_text) {
      reader.fail(make_error(ErrorCode::kUnsupported,
                             "modalities other than text are not supported", "modalities"));
    }
  }
}

}  // namespace

void read_conversation(JsonReader& reader, const RequestLimits& limits,
                       Conversation& conversation) {
  reader.read("add_generation_prompt", conversation.add_generation_prompt);
  reader.read("continue_final_message", conversation.continue_final_message);
  if (conversation.add_generation_prompt && conversation.continue_final_message) {
    reader.fail(invalid_argument(
        "continue_final_message cannot be used together with add_generation_prompt",
        "continue_final_message"));
  }
  reader.read("chat_template", conversation.chat_template);
  if (!conversation.chat_template.empty() && !limits.trust_request_chat_template) {
    reader.fail(invalid_argument(
        "chat_template in a request needs a server started with --trust-request-chat-template",
        "chat_template"));
  }
  for (Status status :
       {read_messages(reader, conversation), read_variables(reader, conversation)}) {
    if (!status) reader.fail(std::move(status).error());
  }
}

Result<ChatRequest> parse_chat_request(std::string_view body, const RequestLimits& limits) {
  TVLLM_TRY(const json::value document, parse_json_object(body));
  JsonReader reader(document.get_object());
  ChatRequest request;
  GenerationFields& fields = request.fields;
  read_generation_fields(reader, limits, fields);
  std::optional<std::int64_t> max_completion_tokens;
  reader.read("max_completion_tokens", max_completion_tokens, 0);
  if (max_completion_tokens) {
    fields.max_tokens = max_completion_tokens;
    fields.max_tokens_param = "max_completion_tokens";
  }
  read_chat_logprobs(reader, limits, fields);
  refuse_what_chat_cannot(reader);
  TVLLM_RETURN_IF_ERROR(reader.status());
  read_conversation(reader, limits, request.conversation);
  TVLLM_RETURN_IF_ERROR(reader.status());
  return request;
}

}  // namespace tvllm::server
