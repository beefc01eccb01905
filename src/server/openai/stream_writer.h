// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/openai/answer_writer.h"

namespace tvllm::server {

// Server-sent events, one chunk of JSON each, "data: [DONE]" at the very end. What is the same in
// every chunk of a choice is written once, so that a token costs a few appends.
//
// Chunks without anything new are not sent: each has a role, text, log-probabilities, token ids or
// a reason to finish.
class StreamWriter final : public AnswerWriter {
 public:
  StreamWriter(const AnswerForm& form, const tokenizer::Tokenizer& tokenizer,
               std::shared_ptr<Exchange> exchange);

  void begin() override;
  void add(std::size_t choice, output::OutputDelta&& delta) override;
  void flush() override;
  void finish() override;
  void fail(const Error& error) override;

 private:
  struct Choice {
    std::string chunk_head;                         // data: {"id":...,"choices":[{"index":0,
    bool begun = false;                             // its role and its echo are out
    bool has_told_prompt = false;                   // its prompt_token_ids are out
    std::vector<PositionLogprobs> prompt_logprobs;  // under echo, until the echo is sent
  };
  // The inside of one chunk's choice.
  struct Piece {
    std::string_view text{};
    std::span<const output::TokenPiece> tokens{};
    std::size_t offset_base = 0;
    const output::OutputDelta* end = nullptr;  // the delta that ends the choice
    bool has_role = false;
  };

  bool begin_choice(std::size_t index, output::OutputDelta& delta);
  void append_chunk(std::size_t index, const Piece& piece);
  void append_content(std::string& out, const Piece& piece) const;
  void append_logprobs(std::string& out, const Piece& piece) const;

  const AnswerForm& form_;                 // owned by the Generation that owns this
  const tokenizer::Tokenizer& tokenizer_;  // outlives the server
  const std::shared_ptr<Exchange> exchange_;
  UsageCounter usage_;
  std::vector<Choice> choices_;
};

}  // namespace tvllm::server
