// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_thread.h"

#include <exception>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/strings.h"
#include "engine/engine_core.h"

namespace tvllm::engine {

EngineThread::EngineThread(std::unique_ptr<scheduler::Scheduler> scheduler,
                           std::unique_ptr<executor::ModelExecutor> executor,
                           std::size_t max_arrivals, std::int32_t max_model_len,
                           std::function<void()> on_failure, const StepTimeTarget& target)
    : scheduler_(std::move(scheduler)),
      executor_(std::move(executor)),
      max_model_len_(max_model_len),
      on_failure_(std::move(on_failure)),
      target_(target),
      inbox_(max_arrivals),
      thread_([this] { run(); }) {}

EngineThread::~EngineThread() {
  stop();
}

Status EngineThread::check_running() const {
  const EngineState now = state();
  if (now == EngineState::kRunning) return {};
  return make_error(ErrorCode::kUnavailable, now == EngineState::kFailed
                                                 ? "the engine has failed"
                                                 : "the engine is shutting down");
}

Result<SeqId> EngineThread::submit(std::shared_ptr<const Request> request, TokenEventSink& sink) {
  TVLLM_RETURN_IF_ERROR(check_running());
  TVLLM_RETURN_IF_ERROR(scheduler_->check_fits(*request));
  const SeqId seq_id(next_seq_id_.fetch_add(1, std::memory_order_relaxed));
  num_accepted_.fetch_add(1, std::memory_order_acq_rel);
  if (!inbox_.push({seq_id, std::move(request), &sink})) {
    take_back_acceptance();
    // An inbox that was closed meanwhile is no full one.
    TVLLM_RETURN_IF_ERROR(check_running());
    return make_error(ErrorCode::kResourceExhausted,
                      "too many requests are waiting; try again later");
  }
  return seq_id;
}

// wait_idle() may be waiting for this one to be taken in.
void EngineThread::take_back_acceptance() {
  MutexLock lock(stats_mutex_);
  num_accepted_.fetch_sub(1, std::memory_order_acq_rel);
  idle_cv_.notify_all();
}

void EngineThread::cancel(SeqId seq_id) {
  inbox_.cancel(seq_id);
}

EngineStats EngineThread::stats() const {
  MutexLock lock(stats_mutex_);
  EngineStats stats = stats_;
  const std::uint64_t num_accepted = num_accepted_.load(std::memory_order_acquire);
  if (num_accepted > num_in_stats_) {
    stats.num_waiting += static_cast<std::int32_t>(num_accepted - num_in_stats_);
  }
  return stats;
}

void EngineThread::drain() {
  EngineState running = EngineState::kRunning;
  state_.compare_exchange_strong(running, EngineState::kDraining);
}

bool EngineThread::wait_idle(std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(stats_mutex_);
  while (!idle_ || num_taken_in_ < num_accepted_.load(std::memory_order_acquire)) {
    if (!idle_cv_.wait_until(stats_mutex_, deadline)) return false;
  }
  return true;
}

void EngineThread::stop() {
  drain();
  inbox_.close();
  if (thread_.joinable()) thread_.join();
}

void EngineThread::run() {
  EngineCore core(*scheduler_, *executor_, target_);
  try {
    while (take_in(core, !core.has_work())) {
      if (core.has_work()) core.step();
      publish_stats(core);
    }
    core.abort_all();
    state_.store(EngineState::kStopped, std::memory_order_release);
  } catch (const std::exception& error) {
    fail(core, error.what());
  } catch (...) {
    fail(core, "unknown exception");
  }
}

// False when the inbox is closed: time to stop.
bool EngineThread::take_in(EngineCore& core, bool wait) {
  std::vector<Arrival> arrivals;
  std::vector<SeqId> cancellations;
  const bool open = inbox_.drain(wait, arrivals, cancellations);
  for (Arrival& arrival : arrivals)
    core.add(std::move(arrival));
  for (const SeqId seq_id : cancellations)
    core.cancel(seq_id);
  MutexLock lock(stats_mutex_);
  num_taken_in_ += arrivals.size();
  idle_ = !core.has_work();
  return open;
}

void EngineThread::publish_stats(const EngineCore& core) {
  const scheduler::SchedulerStats from = scheduler_->stats();
  MutexLock lock(stats_mutex_);
  stats_.num_running = from.num_running;
  stats_.num_waiting = from.num_waiting;
  stats_.num_blocks = from.num_blocks;
  stats_.num_used_blocks = from.num_used_blocks;
  stats_.num_cached_blocks = from.num_cached_blocks;
  stats_.num_prompt_tokens = from.num_prompt_tokens;
  stats_.num_generated_tokens = from.num_generated_tokens;
  stats_.num_preemptions = from.num_preemptions;
  stats_.num_prefix_queries = from.num_prefix_queries;
  stats_.num_prefix_hits = from.num_prefix_hits;
  stats_.num_steps = core.num_steps();
  stats_.num_corrupted = core.num_corrupted();
  stats_.steps = core.step_totals();
  num_in_stats_ = num_taken_in_;
  idle_ = !core.has_work();
  if (idle_) idle_cv_.notify_all();
}

void EngineThread::fail(EngineCore& core, std::string_view why) {
  log_error(str_cat("engine: a step failed: ", why, "; all requests end, the engine stops"));
  state_.store(EngineState::kFailed, std::memory_order_release);
  inbox_.close();
  take_in(core, false);
  core.fail_all(str_cat("the engine failed: ", why));
  {
    MutexLock lock(stats_mutex_);
    stats_.num_running = 0;
    stats_.num_waiting = 0;
    stats_.num_used_blocks = 0;
    num_in_stats_ = num_taken_in_;
    idle_ = true;
    idle_cv_.notify_all();
  }
  if (on_failure_) on_failure_();
}

}  // namespace tvllm::engine
