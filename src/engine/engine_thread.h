// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "engine/engine_client.h"
#include "engine/inbox.h"
#include "engine/prefill_allowance.h"
#include "executor/model_executor.h"
#include "scheduler/scheduler.h"

namespace tvllm::engine {

class EngineCore;

// The engine on its own thread, behind the EngineClient interface. Owns scheduler and executor;
// they are touched by the engine thread alone. Public members are thread-safe.
//
// The thread sleeps in the inbox while there is no work. An exception in a step is our bug or a
// dead device: the engine then fails every live request, refuses new ones, says kFailed, and calls
// `on_failure` once, so that the process can exit with a status that a supervisor notices.
class EngineThread final : public EngineClient {
 public:
  EngineThread(std::unique_ptr<scheduler::Scheduler> scheduler,
               std::unique_ptr<executor::ModelExecutor> executor, std::size_t max_arrivals,
               std::int32_t max_model_len, std::function<void()> on_failure = {},
               const StepTimeTarget& target = {});
  // Aborts what still runs.
  ~EngineThread() override;

  Result<SeqId> submit(std::shared_ptr<const Request> request, TokenEventSink& sink) override;
  void cancel(SeqId seq_id) override;
  EngineState state() const override { return state_.load(std::memory_order_acquire); }
  EngineStats stats() const override;
  std::int32_t max_model_len() const override { return max_model_len_; }

  // No new requests from now on; those inside run to their end.
  void drain();
  // Waits until every sequence has ended or the time is over; true in the first case.
  bool wait_idle(std::chrono::steady_clock::time_point deadline);
  // Aborts what still runs and joins the thread.
  void stop();

 private:
  // kUnavailable if it has failed or shuts down.
  Status check_running() const;
  void take_back_acceptance() TVLLM_EXCLUDES(stats_mutex_);

  void run();
  bool take_in(EngineCore& core, bool wait);
  void publish_stats(const EngineCore& core);
  void fail(EngineCore& core, std::string_view why);

  const std::unique_ptr<scheduler::Scheduler> scheduler_;
  const std::unique_ptr<executor::ModelExecutor> executor_;
  const std::int32_t max_model_len_;
  const std::function<void()> on_failure_;
  const StepTimeTarget target_;

  Inbox inbox_;
  std::atomic<std::uint64_t> next_seq_id_{1};
  std::atomic<EngineState> state_{EngineState::kRunning};

  mutable Mutex stats_mutex_;
  CondVar idle_cv_;
  EngineStats stats_ TVLLM_GUARDED_BY(stats_mutex_);
  std::uint64_t num_taken_in_ TVLLM_GUARDED_BY(stats_mutex_) = 0;  // arrivals handed to the core
  std::uint64_t num_in_stats_ TVLLM_GUARDED_BY(stats_mutex_) = 0;  // of them, those stats_ knows of
  bool idle_ TVLLM_GUARDED_BY(stats_mutex_) = true;
  std::atomic<std::uint64_t> num_accepted_{0};  // arrivals that entered the inbox

  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tvllm::engine
