// SPDX-License-Identifier: Apache-2.0
#include "bench/start_gate.h"

#include <memory>
#include <utility>

#include "core/request.h"

namespace tvllm::bench {

Status StartGate::close(engine::EngineClient& engine, StartGate& gate) {
  auto request = std::make_shared<Request>();
  request->prompt_token_ids = {0};
  request->sampling.max_tokens = 1;
  request->sampling.temperature = 0.0f;
  request->sampling.ignore_eos = true;
  *gate.state_ = State::kSubmitted;
  const Result<SeqId> submitted = engine.submit(std::move(request), gate);
  if (!submitted.has_value()) {
    *gate.state_ = State::kUnused;
    return submitted.error();
  }
  gate.state_->wait(State::kSubmitted);
  return {};
}

StartGate::~StartGate() {
  open();
  for (State state = *state_; state != State::kUnused && state != State::kPassed; state = *state_)
    state_->wait(state);
}

void StartGate::open() {
  if (*state_ != State::kReached) return;
  *state_ = State::kOpen;
  state_->notify_all();
}

void StartGate::publish(std::span<TokenEvent> events) noexcept {
  if (events.empty() || events.back().finish_reason == FinishReason::kNone) return;
  const std::shared_ptr<std::atomic<State>> state = state_;
  *state = State::kReached;
  state->notify_all();
  state->wait(State::kReached);
  *state = State::kPassed;
  state->notify_all();
}

}  // namespace tvllm::bench
