// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/openai/answer_writer.h"

namespace tvllm::server {

// Collects the choices and answers with one JSON body when all have ended.
class WholeWriter final : public AnswerWriter {
 public:
  WholeWriter(const AnswerForm& form, const tokenizer::Tokenizer& tokenizer,
              std::shared_ptr<Exchange> exchange);

  void begin() override {}
  void add(std::size_t choice, output::OutputDelta&& delta) override;
  void flush() override {}
  void finish() override;
  void fail(const Error& error) override;

 private:
  struct Choice {
    std::string text;
    std::vector<output::TokenPiece> tokens;  // where the answer shows them
    std::vector<PositionLogprobs> prompt_logprobs;
    FinishReason finish_reason = FinishReason::kNone;
    output::StopReason stop_reason;
  };

  void append_choice(std::string& out, std::size_t index) const;
  void append_logprobs(std::string& out, std::size_t index) const;
  void append_token_id_fields(std::string& out, std::size_t index) const;

  const AnswerForm& form_;                 // owned by the Generation that owns this
  const tokenizer::Tokenizer& tokenizer_;  // outlives the server
  const std::shared_ptr<Exchange> exchange_;
  UsageCounter usage_;
  std::vector<Choice> choices_;
};

}  // namespace tvllm::server
