// SPDX-License-Identifier: Apache-2.0
#include "server/openai/tokenize_request.h"

#include <utility>

#include <boost/json.hpp>

#include "server/openai/json_reader.h"

namespace tvllm::server {

namespace json = boost::json;

Result<TokenizeRequest> parse_tokenize_request(std::string_view body, const RequestLimits& limits) {
  TVLLM_TRY(const json::value document, parse_json_object(body));
  JsonReader reader(document.get_object());
  TokenizeRequest request;
  reader.read("model", request.model);
  reader.read("add_special_tokens", request.add_special_tokens);
  reader.read("return_token_strs", request.return_token_strs);
  TVLLM_RETURN_IF_ERROR(reader.status());
  if (reader.find("messages") != nullptr) {
    request.conversation.emplace();
    read_conversation(reader, limits, *request.conversation);
  } else if (reader.find("prompt") != nullptr) {
    reader.read("prompt", request.prompt);
  } else {
    return invalid_argument("prompt or messages is required", "prompt");
  }
  TVLLM_RETURN_IF_ERROR(reader.status());
  return request;
}

Result<DetokenizeRequest> parse_detokenize_request(std::string_view body) {
  TVLLM_TRY(const json::value document, parse_json_object(body));
  JsonReader reader(document.get_object());
  DetokenizeRequest request;
  reader.read("model", request.model);
  TVLLM_RETURN_IF_ERROR(reader.status());
  const json::value* tokens = reader.find("tokens");
  if (tokens == nullptr) return invalid_argument("tokens is required", "tokens");
  TVLLM_TRY(request.tokens, read_token_ids(*tokens, "tokens"));
  return request;
}

}  // namespace tvllm::server
