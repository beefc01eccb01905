// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_core.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"

namespace tvllm::engine {

EngineCore::EngineCore(scheduler::Scheduler& scheduler, executor::ModelExecutor& executor,
                       const StepTimeTarget& target, const Clock& clock)
    : scheduler_(scheduler), executor_(executor), clock_(clock), allowance_(target) {
  TVLLM_CHECK(executor.max_steps_in_flight() >= 1 &&
                  executor.max_steps_in_flight() <= static_cast<int>(plans_.size()),
              "max_steps_in_flight ", executor.max_steps_in_flight());
}

void EngineCore::add(Arrival arrival) {
  sinks_.emplace(arrival.seq_id, arrival.sink);
  scheduler_.add(arrival.seq_id, std::move(arrival.request));
}

void EngineCore::cancel(SeqId seq_id) {
  if (sinks_.contains(seq_id)) scheduler_.cancel(seq_id);
}

bool EngineCore::has_work() const {
  return scheduler_.has_work() || num_in_flight() > 0;
}

void EngineCore::step() {
  const bool submitted = may_submit() && submit_next();
  if (num_in_flight() > 0 && !(submitted && may_submit())) collect_oldest();
}

std::uint64_t EngineCore::num_in_flight() const {
  return num_planned_ - num_collected_;
}

bool EngineCore::may_submit() const {
  return scheduler_.has_work() &&
         num_in_flight() < static_cast<std::uint64_t>(executor_.max_steps_in_flight());
}

// False if all work waits for a step in flight. A plan that only ends sequences is submitted too:
// the executor forgets their state, and apply() reports them.
bool EngineCore::submit_next() {
  StepPlan& plan = plans_[num_planned_ % plans_.size()];
  PhaseTimer timer(clock_);
  scheduler_.plan(plan, allowance_.tokens(scheduler_.upcoming_load()));
  StepReport& report = reports_[num_planned_ % reports_.size()];
  report = report_of(plan);
  report.timings.start = timer.border();
  timer.end_phase(report.timings.schedule);
  if (plan.empty() && plan.released_slots.empty() && num_in_flight() > 0) return false;
  executor_.submit(plan);
  ++num_planned_;
  return true;
}

void EngineCore::collect_oldest() {
  const StepPlan& plan = plans_[num_collected_ % plans_.size()];
  StepReport& report = reports_[num_collected_ % reports_.size()];
  const StepResult& result = executor_.collect();
  report.timings.execution = result.timings;
  PhaseTimer timer(clock_);
  scheduler_.apply(plan, result, events_);
  ++num_collected_;
  timer.end_phase(report.timings.apply);
  publish();
  timer.end_phase(report.timings.publish);
  last_step_ = report;
  learn_cost();
}

// A step without tokens only took leave of sequences.
void EngineCore::learn_cost() {
  const double seconds = std::chrono::duration<double>(last_step_.timings.total()).count();
  if (last_step_.num_tokens() == 0 || seconds <= 0.0) return;
  allowance_.observe({.num_decode_tokens = last_step_.num_decode_tokens,
                      .num_prefill_tokens = last_step_.num_prefill_tokens,
                      .num_context_tokens = last_step_.num_context_tokens},
                     seconds);
}

// One call a sink, so that each front end is woken once. Nearly always there is one sink, and the
// events stay where they are.
void EngineCore::publish() {
  for (auto first = events_.begin(); first != events_.end();) {
    TokenEventSink* const sink = sinks_.at(first->seq_id);
    const auto is_for_sink = [this, sink](const TokenEvent& event) {
      return sinks_.at(event.seq_id) == sink;
    };
    auto last = std::find_if_not(first, events_.end(), is_for_sink);
    if (last != events_.end()) last = std::stable_partition(first, events_.end(), is_for_sink);
    const std::span<TokenEvent> batch(first, last);
    ended_.clear();
    for (const TokenEvent& event : batch) {
      if (event.finish_reason != FinishReason::kNone) ended_.push_back(event.seq_id);
    }
    sink->publish(batch);
    for (const SeqId seq_id : ended_)
      sinks_.erase(seq_id);
    first = last;
  }
  events_.clear();
}

void EngineCore::fail_all(std::string_view why) {
  end_all(FinishReason::kError, why);
}
void EngineCore::abort_all() {
  end_all(FinishReason::kAbort, {});
}

void EngineCore::end_all(FinishReason reason, std::string_view why) {
  events_.clear();
  for (const auto& [seq_id, sink] : sinks_) {
    TokenEvent event;
    event.seq_id = seq_id;
    event.finish_reason = reason;
    event.error_message = std::string(why);
    events_.push_back(std::move(event));
  }
  publish();
}

}  // namespace tvllm::engine
