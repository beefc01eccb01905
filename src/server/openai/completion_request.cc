// SPDX-License-Identifier: Apache-2.0
#include "server/openai/completion_request.h"

#include <utility>

#include <boost/json.hpp>

#include "base/strings.h"
#include "server/openai/json_reader.h"

namespace tvllm::server {

namespace json = boost::json;

namespace {

Error prompt_error(std::string_view found) {
  return invalid_argument(
      str_cat(
          "prompt must be a string, a list of strings, a list of token ids or a list of lists of "
          "token ids, got ",
          found),
      "prompt");
}

// "text", ["text", ...], [1, 2], [[1, 2], ...]: the first element says which.
Result<std::vector<TextOrTokens>> read_prompts(const json::value& value) {
  std::vector<TextOrTokens> prompts;
  if (const json::string* text = value.if_string()) {
    prompts.emplace_back(std::string(text->data(), text->size()));
    return prompts;
  }
  const json::array* items = value.if_array();
  if (items == nullptr) return prompt_error(kind_name(value));
  if (items->empty()) return prompt_error("an empty list");
  if (items->front().is_number()) {
    TVLLM_TRY(auto ids, read_token_ids(value, "prompt"));
    prompts.emplace_back(std::move(ids));
    return prompts;
  }
  for (const json::value& item : *items) {
    if (item.kind() != items->front().kind()) {
      return prompt_error(
          str_cat("a list with ", kind_name(items->front()), " and ", kind_name(item)));
    }
    if (const json::string* text = item.if_string()) {
      prompts.emplace_back(std::string(text->data(), text->size()));
    } else if (item.is_array()) {
      TVLLM_TRY(auto ids, read_token_ids(item, "prompt"));
      prompts.emplace_back(std::move(ids));
    } else {
      return prompt_error(str_cat("a list with ", kind_name(item)));
    }
  }
  return prompts;
}

}  // namespace

Result<CompletionRequest> parse_completion_request(std::string_view body,
                                                   const RequestLimits& limits) {
  TVLLM_TRY(const json::value document, parse_json_object(body));
  JsonReader reader(document.get_object());
  CompletionRequest request;
  read_generation_fields(reader, limits, request.fields);
  reader.read("logprobs", request.fields.num_logprobs, kAllLogprobs);
  reader.refuse("suffix", "is not supported by this server");
  TVLLM_RETURN_IF_ERROR(reader.status());

  const json::value* prompt = reader.find("prompt");
  if (prompt == nullptr) return invalid_argument("prompt is required", "prompt");
  TVLLM_TRY(request.prompts, read_prompts(*prompt));
  return request;
}

}  // namespace tvllm::server
