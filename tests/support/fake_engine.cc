// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_engine.h"

#include <algorithm>
#include <utility>

namespace tvllm::testing {

using engine::EngineState;

namespace {

PositionLogprobs made_up_logprobs(TokenId token, std::int32_t num_top) {
  PositionLogprobs position;
  position.token = {token, -0.25f, 1};
  for (std::int32_t i = 0; i < num_top; ++i)
    position.top.push_back({token + i, -0.25f * static_cast<float>(i + 1), i + 1});
  return position;
}

}  // namespace

FakeEngine::FakeEngine(Options options)
    : options_(options), thread_([this](std::stop_token stop) { run(stop); }) {}

FakeEngine::~FakeEngine() {
  thread_.request_stop();
  {
    MutexLock lock(mutex_);
    changed_.notify_all();
  }
  thread_.join();
}

void FakeEngine::set_replies(std::vector<std::vector<TokenId>> replies) {
  MutexLock lock(mutex_);
  replies_ = std::move(replies);
}

void FakeEngine::pause() {
  MutexLock lock(mutex_);
  paused_ = true;
}

void FakeEngine::resume() {
  MutexLock lock(mutex_);
  paused_ = false;
  changed_.notify_all();
}

void FakeEngine::step(int count) {
  MutexLock lock(mutex_);
  steps_allowed_ += count;
  changed_.notify_all();
}

void FakeEngine::set_state(EngineState state) {
  MutexLock lock(mutex_);
  state_ = state;
}

void FakeEngine::set_stats(const engine::EngineStats& stats) {
  MutexLock lock(mutex_);
  stats_ = stats;
}

engine::EngineStats FakeEngine::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

void FakeEngine::fail(const std::string& message) {
  MutexLock lock(mutex_);
  failure_ = message;
  state_ = EngineState::kFailed;
  changed_.notify_all();
}

void FakeEngine::fail_sequences_after(std::int32_t num_tokens) {
  MutexLock lock(mutex_);
  fail_after_ = num_tokens;
}

std::size_t FakeEngine::num_live() const {
  MutexLock lock(mutex_);
  return live_.size();
}

std::size_t FakeEngine::num_submitted() const {
  MutexLock lock(mutex_);
  return submitted_.size();
}

std::size_t FakeEngine::num_cancelled() const {
  MutexLock lock(mutex_);
  return num_cancelled_;
}

std::uint64_t FakeEngine::num_tokens() const {
  MutexLock lock(mutex_);
  return num_tokens_;
}

std::vector<std::shared_ptr<const Request>> FakeEngine::submitted() const {
  MutexLock lock(mutex_);
  return submitted_;
}

Result<SeqId> FakeEngine::submit(std::shared_ptr<const Request> request, TokenEventSink& sink) {
  MutexLock lock(mutex_);
  if (state_ != EngineState::kRunning) {
    return make_error(ErrorCode::kUnavailable, "the engine is not running");
  }
  if (live_.size() >= options_.max_live) {
    return make_error(ErrorCode::kResourceExhausted, "the inbox is full");
  }
  Sequence sequence;
  sequence.sink = &sink;
  if (!replies_.empty()) {
    sequence.reply = replies_[request->sampling.choice_index % replies_.size()];
  }
  sequence.times.queued = steady_clock().now();
  sequence.times.scheduled = sequence.times.queued;
  submitted_.push_back(request);
  sequence.request = std::move(request);
  const SeqId seq_id{next_id_++};
  live_.emplace(seq_id, std::move(sequence));
  changed_.notify_all();
  return seq_id;
}

void FakeEngine::cancel(SeqId seq_id) {
  MutexLock lock(mutex_);
  const auto found = live_.find(seq_id);
  if (found == live_.end() || found->second.cancelled) return;
  found->second.cancelled = true;
  ++num_cancelled_;
  changed_.notify_all();
}

EngineState FakeEngine::state() const {
  MutexLock lock(mutex_);
  return state_;
}

bool FakeEngine::has_work() const {
  if (live_.empty()) return false;
  if (!paused_ || steps_allowed_ > 0 || failure_) return true;
  return std::any_of(live_.begin(), live_.end(),
                     [](const auto& entry) { return entry.second.cancelled; });
}

void FakeEngine::run(std::stop_token stop) {
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!stop.stop_requested() && !has_work())
        changed_.wait(mutex_);
      if (stop.stop_requested()) return;
    }
    run_step();
  }
}

void FakeEngine::run_step() {
  std::map<TokenEventSink*, std::vector<TokenEvent>> events;
  {
    MutexLock lock(mutex_);
    const bool computes = !paused_ || steps_allowed_ > 0 || failure_;
    if (steps_allowed_ > 0) --steps_allowed_;
    for (auto it = live_.begin(); it != live_.end();) {
      if (!computes && !it->second.cancelled) {
        ++it;
        continue;
      }
      TokenEvent event = next_event(it->first, it->second);
      event.times = it->second.times;
      const bool ends = event.finish_reason != FinishReason::kNone;
      events[it->second.sink].push_back(std::move(event));
      it = ends ? live_.erase(it) : std::next(it);
    }
  }
  for (auto& [sink, batch] : events)
    sink->publish(batch);
}

TokenEvent FakeEngine::next_event(SeqId seq_id, Sequence& sequence) {
  const SamplingParams& sampling = sequence.request->sampling;
  TokenEvent event;
  event.seq_id = seq_id;
  if (sequence.cancelled) {
    event.finish_reason = FinishReason::kAbort;
    return event;
  }
  if (failure_ || (fail_after_ && sequence.num_tokens >= *fail_after_)) {
    event.finish_reason = FinishReason::kError;
    event.error_message = failure_ ? *failure_ : "the logits of this sequence are not numbers";
    return event;
  }
  if (sequence.num_tokens == 0 && sampling.num_prompt_logprobs) {
    const auto& prompt = sequence.request->prompt_token_ids;
    for (std::size_t i = 1; i < prompt.size(); ++i)
      event.prompt_logprobs.push_back(made_up_logprobs(prompt[i], *sampling.num_prompt_logprobs));
  }
  sequence.times.last_token = steady_clock().now();
  if (sequence.num_tokens == 0) {
    sequence.times.first_token = sequence.times.last_token;
    event.num_cached_tokens = options_.num_cached_tokens;
  }
  const auto index = static_cast<std::size_t>(sequence.num_tokens++);
  ++num_tokens_;
  if (index < sequence.reply.size()) {
    event.token_id = sequence.reply[index];
  } else if (sampling.ignore_eos && !sequence.reply.empty()) {
    event.token_id = sequence.reply.back();
  } else {
    event.token_id = options_.eos;
    event.finish_reason = FinishReason::kStop;
  }
  const auto& stops = sampling.stop_token_ids;
  if (std::find(stops.begin(), stops.end(), event.token_id) != stops.end()) {
    event.finish_reason = FinishReason::kStop;
    event.stop_token_id = event.token_id;
  }
  if (event.finish_reason == FinishReason::kNone && sequence.num_tokens >= sampling.max_tokens) {
    event.finish_reason = FinishReason::kLength;
  }
  if (sampling.num_logprobs) {
    event.has_logprobs = true;
    event.logprobs = made_up_logprobs(event.token_id, *sampling.num_logprobs);
  }
  return event;
}

}  // namespace tvllm::testing
