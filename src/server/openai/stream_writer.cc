// SPDX-License-Identifier: Apache-2.0
#include "server/openai/stream_writer.h"

#include <utility>

#include "base/strings.h"
#include "server/json_writer.h"
#include "server/openai/api_error.h"
#include "server/openai/logprobs_json.h"

namespace tvllm::server {

using output::OutputDelta;

namespace {

constexpr std::string_view kDone = "data: [DONE]\n\n";

// data: {"id":"...","object":"...","created":0,"model":"..."
std::string event_head(const AnswerForm& form) {
  std::string head = R"(data: {"id":)";
  append_json_string(head, form.id);
  str_append(head, R"(,"object":")",
             form.api == ApiKind::kChat ? "chat.completion.chunk" : "text_completion",
             R"(","created":)", form.created, R"(,"model":)");
  append_json_string(head, form.model);
  return head;
}

}  // namespace

StreamWriter::StreamWriter(const AnswerForm& form, const tokenizer::Tokenizer& tokenizer,
                           std::shared_ptr<Exchange> exchange)
    : form_(form),
      tokenizer_(tokenizer),
      exchange_(std::move(exchange)),
      usage_(form),
      choices_(form.num_choices()) {
  const std::string head = event_head(form_);
  for (std::size_t i = 0; i < choices_.size(); ++i)
    choices_[i].chunk_head = str_cat(head, R"(,"choices":[{"index":)", i, ",");
}

void StreamWriter::begin() {
  exchange_->begin_stream();
}

void StreamWriter::add(std::size_t index, OutputDelta&& delta) {
  usage_.update(index, delta);
  if (!begin_choice(index, delta)) return;
  if (form_.echo_only) {
    delta.text.clear();
    delta.tokens.clear();
  }
  const bool ends = delta.finish_reason != FinishReason::kNone;
  const bool shows_tokens = form_.num_logprobs.has_value() || form_.return_token_ids;
  if (delta.text.empty() && !ends && !(shows_tokens && !delta.tokens.empty())) return;
  append_chunk(index, {.text = delta.text,
                       .tokens = delta.tokens,
                       .offset_base = form_.prompt_of(index).num_echo_chars,
                       .end = ends ? &delta : nullptr});
}

// The role, and the echoed prompt, come with the first token. False while there is none.
bool StreamWriter::begin_choice(std::size_t index, OutputDelta& delta) {
  Choice& choice = choices_[index];
  if (choice.begun) return true;
  for (PositionLogprobs& position : delta.prompt_logprobs)
    choice.prompt_logprobs.push_back(std::move(position));
  if (delta.num_output_tokens == 0 && delta.finish_reason == FinishReason::kNone) return false;
  const AnswerPrompt& prompt = form_.prompt_of(index);
  if (form_.api == ApiKind::kChat) append_chunk(index, {.has_role = true});
  if (!prompt.echo_text.empty() || !prompt.echo_tokens.empty()) {
    const auto tokens = with_logprobs(prompt.echo_tokens, choice.prompt_logprobs);
    append_chunk(index, {.text = prompt.echo_text, .tokens = tokens});
  }
  choice.begun = true;
  choice.prompt_logprobs = {};
  return true;
}

void StreamWriter::append_chunk(std::size_t index, const Piece& piece) {
  std::string& out = exchange_->events();
  out += choices_[index].chunk_head;
  append_content(out, piece);
  append_logprobs(out, piece);
  if (form_.return_token_ids && !piece.has_role) {
    std::vector<TokenId> ids;
    for (const output::TokenPiece& token : piece.tokens)
      ids.push_back(token.id);
    out += R"(,"token_ids":)";
    append_token_ids(out, ids);
  }
  if (piece.end == nullptr) {
    out += R"(,"finish_reason":null}])";
  } else {
    str_append(out, R"(,"finish_reason":")", finish_reason_name(piece.end->finish_reason),
               R"(","stop_reason":)");
    append_stop_reason(out, piece.end->stop_reason);
    out += "}]";
  }
  if (form_.return_token_ids && !std::exchange(choices_[index].has_told_prompt, true)) {
    out += R"(,"prompt_token_ids":)";
    append_token_ids(out, form_.prompt_of(index).token_ids);
  }
  if (form_.continuous_usage_stats) {
    out += R"(,"usage":)";
    usage_.append_choice(out, index);
  } else if (form_.include_usage) {
    out += R"(,"usage":null)";
  }
  out += "}\n\n";
}

void StreamWriter::append_content(std::string& out, const Piece& piece) const {
  if (form_.api == ApiKind::kCompletion) {
    out += R"("text":)";
    append_json_string(out, piece.text);
    return;
  }
  out += R"("delta":{)";
  if (piece.has_role) {
    out += R"("role":)";
    append_json_string(out, form_.role);
    out += ',';
  }
  if (piece.has_role || !piece.text.empty()) {
    out += R"("content":)";
    append_json_string(out, piece.text);
  }
  out += '}';
}

void StreamWriter::append_logprobs(std::string& out, const Piece& piece) const {
  out += R"(,"logprobs":)";
  if (!form_.num_logprobs || piece.tokens.empty()) {
    out += "null";
  } else if (form_.api == ApiKind::kChat) {
    append_chat_logprobs(out, piece.tokens, form_, tokenizer_);
  } else {
    append_completion_logprobs(out, piece.tokens, piece.offset_base, form_, tokenizer_);
  }
}

void StreamWriter::flush() {
  exchange_->flush();
}

void StreamWriter::finish() {
  std::string& out = exchange_->events();
  if (form_.include_usage) {
    out += event_head(form_);
    out += R"(,"choices":[],"usage":)";
    usage_.append_total(out);
    out += "}\n\n";
  }
  out += kDone;
  exchange_->end_stream();
}

void StreamWriter::fail(const Error& error) {
  str_append(exchange_->events(), "data: ", error_body(error), "\n\n", kDone);
  exchange_->end_stream();
}

}  // namespace tvllm::server
