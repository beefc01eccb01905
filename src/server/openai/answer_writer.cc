// SPDX-License-Identifier: Apache-2.0
#include "server/openai/answer_writer.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "server/json_writer.h"
#include "server/openai/stream_writer.h"
#include "server/openai/whole_writer.h"

namespace tvllm::server {

std::unique_ptr<AnswerWriter> make_answer_writer(const AnswerForm& form,
                                                 const tokenizer::Tokenizer& tokenizer,
                                                 std::shared_ptr<Exchange> exchange) {
  if (form.stream) return std::make_unique<StreamWriter>(form, tokenizer, std::move(exchange));
  return std::make_unique<WholeWriter>(form, tokenizer, std::move(exchange));
}

void UsageCounter::update(std::size_t choice, const output::OutputDelta& delta) {
  num_output_tokens_[choice] = form_.echo_only ? 0 : delta.num_output_tokens;
  std::int64_t& num_cached = num_cached_[choice / form_.n];
  num_cached = std::max<std::int64_t>(num_cached, delta.num_cached_tokens);
}

namespace {
void append_counts(std::string& out, std::int64_t num_prompt, std::int64_t num_output) {
  str_append(out, R"({"prompt_tokens":)", num_prompt, R"(,"completion_tokens":)", num_output,
             R"(,"total_tokens":)", num_prompt + num_output);
}
}  // namespace

void UsageCounter::append_total(std::string& out) const {
  std::int64_t num_prompt = 0;
  std::int64_t num_output = 0;
  std::int64_t num_cached = 0;
  for (const AnswerPrompt& prompt : form_.prompts)
    num_prompt += prompt.num_tokens;
  for (const std::int64_t count : num_output_tokens_)
    num_output += count;
  for (const std::int64_t count : num_cached_)
    num_cached += count;
  append_counts(out, num_prompt, num_output);
  if (form_.prompt_tokens_details) {
    str_append(out, R"(,"prompt_tokens_details":{"cached_tokens":)", num_cached, "}");
  }
  out += '}';
}

void UsageCounter::append_choice(std::string& out, std::size_t choice) const {
  append_counts(out, form_.prompt_of(choice).num_tokens, num_output_tokens_[choice]);
  out += '}';
}

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAbort:
      return "abort";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

void append_stop_reason(std::string& out, const output::StopReason& reason) {
  if (const std::string* text = std::get_if<std::string>(&reason)) {
    append_json_string(out, *text);
  } else if (const TokenId* id = std::get_if<TokenId>(&reason)) {
    str_append(out, *id);
  } else {
    out += "null";
  }
}

void append_token_ids(std::string& out, const std::vector<TokenId>& ids) {
  out += '[';
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out += ',';
    str_append(out, ids[i]);
  }
  out += ']';
}

}  // namespace tvllm::server
