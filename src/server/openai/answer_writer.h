// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "output/output_processor.h"
#include "server/http/exchange.h"
#include "server/openai/answer_form.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::server {

// Turns what the choices of one request produce into its HTTP answer: a stream of chunks, or one
// body at the end. I/O thread only; owned by the request's Generation.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  // The request is in the engine: a stream's header goes out now.
  virtual void begin() = 0;
  virtual void add(std::size_t choice, output::OutputDelta&& delta) = 0;
  // Sends what add() has written since the last call.
  virtual void flush() = 0;
  // Every choice has ended.
  virtual void finish() = 0;
  // Instead of an end: the engine failed.
  virtual void fail(const Error& error) = 0;
};

// What `form` asks for. All three outlive the writer's use.
std::unique_ptr<AnswerWriter> make_answer_writer(const AnswerForm& form,
                                                 const tokenizer::Tokenizer& tokenizer,
                                                 std::shared_ptr<Exchange> exchange);

// Tokens of a request so far. As OpenAI counts: each prompt once, however many choices it has.
class UsageCounter {
 public:
  explicit UsageCounter(const AnswerForm& form)
      : form_(form), num_output_tokens_(form.num_choices()), num_cached_(form.prompts.size()) {}

  void update(std::size_t choice, const output::OutputDelta& delta);
  // {"prompt_tokens":..,"completion_tokens":..,"total_tokens":..}
  void append_total(std::string& out) const;
  // Of one choice, for continuous_usage_stats.
  void append_choice(std::string& out, std::size_t choice) const;

 private:
  const AnswerForm& form_;  // outlives the counter, as the writer's
  std::vector<std::int64_t> num_output_tokens_;
  std::vector<std::int64_t> num_cached_;
};

// "stop", "length", "abort", "error"
const char* finish_reason_name(FinishReason reason);
// The stop string, the stop token id, or null for EOS.
void append_stop_reason(std::string& out, const output::StopReason& reason);
void append_token_ids(std::string& out, const std::vector<TokenId>& ids);

}  // namespace tvllm::server
