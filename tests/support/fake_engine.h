// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "engine/engine_client.h"

namespace tvllm::testing {

// An engine without a model: a thread that gives each sequence one token of its reply a step, in
// the way and order the real one does. Thread-safe; the test says what is replied and when steps
// happen.
//
// A reply is cut at max_tokens (kLength); a reply that is used up ends with EOS (kStop), or goes on
// with its last token under ignore_eos. Log-probabilities are made up: token t has -0.25, the best
// ones are t, t + 1, ... with -0.25, -0.5, ...
class FakeEngine final : public engine::EngineClient {
 public:
  struct Options {
    TokenId eos = 0;
    std::int32_t max_model_len = 1024;
    std::size_t max_live = 1000;         // more are refused as a full inbox refuses
    std::int32_t num_cached_tokens = 0;  // of every prompt, told with the first token
  };

  explicit FakeEngine(Options options);
  ~FakeEngine() override;

  // What later requests are answered with; choice i of several gets texts[i % size].
  void set_replies(std::vector<std::vector<TokenId>> replies);
  // Without steps sequences wait, as in a long prefill.
  void pause();
  void resume();
  // So many steps now, while paused.
  void step(int count = 1);
  void set_state(engine::EngineState state);
  // What stats() says.
  void set_stats(const engine::EngineStats& stats);
  // Each live sequence ends with an error; the state becomes kFailed.
  void fail(const std::string& message);
  // One sequence's row was bad: it alone ends with an error after `num_tokens`.
  void fail_sequences_after(std::int32_t num_tokens);

  std::size_t num_live() const;
  std::size_t num_submitted() const;
  std::size_t num_cancelled() const;
  std::uint64_t num_tokens() const;
  std::vector<std::shared_ptr<const Request>> submitted() const;

  Result<SeqId> submit(std::shared_ptr<const Request> request, TokenEventSink& sink) override;
  void cancel(SeqId seq_id) override;
  engine::EngineState state() const override;
  engine::EngineStats stats() const override;
  std::int32_t max_model_len() const override { return options_.max_model_len; }

 private:
  struct Sequence {
    std::shared_ptr<const Request> request;
    TokenEventSink* sink = nullptr;
    std::vector<TokenId> reply;
    std::int32_t num_tokens = 0;
    bool cancelled = false;
    SequenceTimes times = {};
  };

  void run(std::stop_token stop);
  bool has_work() const TVLLM_REQUIRES(mutex_);
  void run_step() TVLLM_EXCLUDES(mutex_);
  TokenEvent next_event(SeqId seq_id, Sequence& sequence) TVLLM_REQUIRES(mutex_);

  const Options options_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<SeqId, Sequence> live_ TVLLM_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const Request>> submitted_ TVLLM_GUARDED_BY(mutex_);
  std::vector<std::vector<TokenId>> replies_ TVLLM_GUARDED_BY(mutex_);
  engine::EngineState state_ TVLLM_GUARDED_BY(mutex_) = engine::EngineState::kRunning;
  engine::EngineStats stats_ TVLLM_GUARDED_BY(mutex_);
  std::optional<std::string> failure_ TVLLM_GUARDED_BY(mutex_);
  std::optional<std::int32_t> fail_after_ TVLLM_GUARDED_BY(mutex_);
  std::uint64_t next_id_ TVLLM_GUARDED_BY(mutex_) = 1;
  std::size_t num_cancelled_ TVLLM_GUARDED_BY(mutex_) = 0;
  std::uint64_t num_tokens_ TVLLM_GUARDED_BY(mutex_) = 0;
  int steps_allowed_ TVLLM_GUARDED_BY(mutex_) = 0;
  bool paused_ TVLLM_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace tvllm::testing
