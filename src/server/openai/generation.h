// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "core/token_event.h"
#include "server/http/exchange.h"
#include "server/openai/answer_writer.h"
#include "server/openai/generation_recorder.h"
#include "server/openai/request_builder.h"

namespace tvllm::server {

class GenerationHub;

// One request in the engine: its sequences, one a choice, and the answer that grows from their
// events. I/O thread only; shared by the hub's routes, so that it lives until the engine has ended
// the last sequence, which may be after the client has its answer or has left.
//
//   start --> kRunning --all choices ended--> kAnswered
//                 |---the engine failed-----> kAnswered (with an error)
//                 \---the client left-------> kAbandoned
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(PreparedRequest prepared, std::shared_ptr<Exchange> exchange, GenerationHub& hub);

  // Hands every choice to the engine, or answers with why it refused one.
  void start();

  void on_event(std::size_t choice, TokenEvent&& event, TimePoint now);
  // True if flush() is not due already.
  bool mark_for_flush() { return !std::exchange(awaits_flush_, true); }
  // Sends what events have made since the last time.
  void flush();

 private:
  enum class State { kRunning, kAnswered, kAbandoned };
  struct Choice {
    SeqId seq_id;
    bool in_engine = false;
    output::OutputProcessor processor;
  };

  void cancel_sequences();
  void fail(const Error& error);

  const PreparedRequest prepared_;
  const std::shared_ptr<Exchange> exchange_;
  GenerationHub& hub_;  // outlives every generation
  std::vector<Choice> choices_;
  std::unique_ptr<AnswerWriter> writer_;
  GenerationRecorder recorder_;
  std::size_t num_open_ = 0;  // choices whose end the client has not been told
  State state_ = State::kRunning;
  bool awaits_flush_ = false;
};

}  // namespace tvllm::server
