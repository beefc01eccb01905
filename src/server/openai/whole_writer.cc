// SPDX-License-Identifier: Apache-2.0
#include "server/openai/whole_writer.h"

#include <iterator>
#include <utility>

#include "base/strings.h"
#include "server/json_writer.h"
#include "server/openai/api_error.h"
#include "server/openai/logprobs_json.h"

namespace tvllm::server {

using output::OutputDelta;

WholeWriter::WholeWriter(const AnswerForm& form, const tokenizer::Tokenizer& tokenizer,
                         std::shared_ptr<Exchange> exchange)
    : form_(form),
      tokenizer_(tokenizer),
      exchange_(std::move(exchange)),
      usage_(form),
      choices_(form.num_choices()) {}

void WholeWriter::add(std::size_t index, OutputDelta&& delta) {
  usage_.update(index, delta);
  Choice& choice = choices_[index];
  choice.prompt_logprobs.insert(choice.prompt_logprobs.end(),
                                std::make_move_iterator(delta.prompt_logprobs.begin()),
                                std::make_move_iterator(delta.prompt_logprobs.end()));
  if (!form_.echo_only) {
    choice.text += delta.text;
    if (form_.num_logprobs || form_.return_token_ids) {
      choice.tokens.insert(choice.tokens.end(), std::make_move_iterator(delta.tokens.begin()),
                           std::make_move_iterator(delta.tokens.end()));
    }
  }
  if (delta.finish_reason == FinishReason::kNone) return;
  choice.finish_reason = delta.finish_reason;
  choice.stop_reason = std::move(delta.stop_reason);
}

void WholeWriter::append_logprobs(std::string& out, std::size_t index) const {
  const Choice& choice = choices_[index];
  out += R"(,"logprobs":)";
  if (!form_.num_logprobs) {
    out += "null";
    return;
  }
  if (form_.api == ApiKind::kChat) {
    append_chat_logprobs(out, choice.tokens, form_, tokenizer_);
    return;
  }
  const AnswerPrompt& prompt = form_.prompt_of(index);
  std::vector<output::TokenPiece> tokens =
      with_logprobs(prompt.echo_tokens, choice.prompt_logprobs);
  for (const output::TokenPiece& token : choice.tokens) {
    tokens.push_back(token);
    tokens.back().text_offset += prompt.num_echo_chars;
  }
  append_completion_logprobs(out, tokens, 0, form_, tokenizer_);
}

void WholeWriter::append_token_id_fields(std::string& out, std::size_t index) const {
  if (!form_.return_token_ids) return;
  std::vector<TokenId> ids;
  for (const output::TokenPiece& token : choices_[index].tokens)
    ids.push_back(token.id);
  out += R"(,"token_ids":)";
  append_token_ids(out, ids);
  if (form_.api == ApiKind::kCompletion) {
    out += R"(,"prompt_token_ids":)";
    append_token_ids(out, form_.prompt_of(index).token_ids);
  }
}

void WholeWriter::append_choice(std::string& out, std::size_t index) const {
  const Choice& choice = choices_[index];
  const std::string text = form_.prompt_of(index).echo_text + choice.text;
  str_append(out, R"({"index":)", index);
  if (form_.api == ApiKind::kChat) {
    out += R"(,"message":{"role":)";
    append_json_string(out, form_.role);
    out += R"(,"content":)";
    append_json_string(out, text);
    out += R"(,"refusal":null})";
  } else {
    out += R"(,"text":)";
    append_json_string(out, text);
  }
  append_logprobs(out, index);
  str_append(out, R"(,"finish_reason":")", finish_reason_name(choice.finish_reason),
             R"(","stop_reason":)");
  append_stop_reason(out, choice.stop_reason);
  append_token_id_fields(out, index);
  if (form_.api == ApiKind::kCompletion && form_.has_prompt_logprobs) {
    out += R"(,"prompt_logprobs":)";
    append_prompt_logprobs(out, choice.prompt_logprobs, tokenizer_);
  }
  out += '}';
}

void WholeWriter::finish() {
  HttpResponse response;
  std::string& out = response.body;
  out += R"({"id":)";
  append_json_string(out, form_.id);
  str_append(out, R"(,"object":")",
             form_.api == ApiKind::kChat ? "chat.completion" : "text_completion", R"(","created":)",
             form_.created, R"(,"model":)");
  append_json_string(out, form_.model);
  out += R"(,"choices":[)";
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (i > 0) out += ',';
    append_choice(out, i);
  }
  out += R"(],"usage":)";
  usage_.append_total(out);
  out += R"(,"system_fingerprint":null)";
  if (form_.api == ApiKind::kChat && form_.has_prompt_logprobs) {
    out += R"(,"prompt_logprobs":)";
    append_prompt_logprobs(out, choices_.front().prompt_logprobs, tokenizer_);
  }
  if (form_.api == ApiKind::kChat && form_.return_token_ids) {
    out += R"(,"prompt_token_ids":)";
    append_token_ids(out, form_.prompts.front().token_ids);
  }
  out += '}';
  exchange_->respond(std::move(response));
}

void WholeWriter::fail(const Error& error) {
  exchange_->respond(error_response(error));
}

}  // namespace tvllm::server
