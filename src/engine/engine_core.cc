// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_core.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "trace/trace_recorder.h"

namespace tvllm::engine {

EngineCore::EngineCore(scheduler::Scheduler& scheduler, executor::ModelExecutor& executor,
                       const StepTimeTarget& target, const Clock& clock)
    : scheduler_(scheduler),
      executor_(executor),
      clock_(clock),
      trace_(scheduler.trace()),
      allowance_(target) {
  TVLLM_CHECK(executor.max_steps_in_flight() >= 1 &&
                  executor.max_steps_in_flight() <= static_cast<int>(plans_.size()),
              "max_steps_in_flight ", executor.max_steps_in_flight());
}

void EngineCore::add(Arrival arrival) {
  const TimePoint now = clock_.now();
  trace_time(now);
  live_.emplace(arrival.seq_id, Live{arrival.sink, {.queued = now}});
  scheduler_.add(arrival.seq_id, std::move(arrival.request));
}

void EngineCore::cancel(SeqId seq_id) {
  if (!live_.contains(seq_id)) return;
  if (trace_ != nullptr) trace_time(clock_.now());
  scheduler_.cancel(seq_id);
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
  trace_time(timer.border());
  scheduler_.plan(plan, allowance_.tokens(scheduler_.upcoming_load()));
  StepReport& report = reports_[num_planned_ % reports_.size()];
  report = report_of(plan);
  report.timings.start = timer.border();
  timer.end_phase(report.timings.schedule);
  if (plan.empty() && plan.released_slots.empty() && num_in_flight() > 0) return false;
  stamp_starts(plan, report.timings.start);
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
  trace_time(timer.border());
  scheduler_.apply(plan, result, events_);
  ++num_collected_;
  timer.end_phase(report.timings.apply);
  stamp_events(timer.border());
  if (trace_ != nullptr) trace_step(report);
  publish();
  timer.end_phase(report.timings.publish);
  last_step_ = report;
  account_for_step();
}

// A step without tokens only took leave of sequences.
void EngineCore::account_for_step() {
  const StepTimings& timings = last_step_.timings;
  totals_.schedule_s += to_seconds(timings.schedule);
  totals_.build_s += to_seconds(timings.execution.build);
  totals_.forward_s += to_seconds(timings.execution.forward);
  totals_.sample_s += to_seconds(timings.execution.sample);
  totals_.apply_s += to_seconds(timings.apply);
  totals_.publish_s += to_seconds(timings.publish);
  const std::int32_t num_tokens = last_step_.num_tokens();
  if (num_tokens == 0) return;
  const auto border =
      std::lower_bound(kStepTokenBorders.begin(), kStepTokenBorders.end(), num_tokens);
  ++totals_.num_steps_by_tokens[static_cast<std::size_t>(border - kStepTokenBorders.begin())];
  totals_.num_tokens += static_cast<std::uint64_t>(num_tokens);
  const double seconds = to_seconds(timings.total());
  if (seconds <= 0.0) return;
  allowance_.observe({.num_decode_tokens = last_step_.num_decode_tokens,
                      .num_prefill_tokens = last_step_.num_prefill_tokens,
                      .num_context_tokens = last_step_.num_context_tokens},
                     seconds);
}

void EngineCore::stamp_starts(const StepPlan& plan, TimePoint now) {
  for (const SequenceStart& start : plan.started) {
    const auto found = live_.find(start.seq_id);
    if (found == live_.end() || found->second.times.first_token != TimePoint{}) continue;
    found->second.times.scheduled = now;
  }
}

void EngineCore::stamp_events(TimePoint now) {
  for (TokenEvent& event : events_) {
    SequenceTimes& times = live_.at(event.seq_id).times;
    // The one error that a scheduler tells is a row without valid logits.
    if (event.finish_reason == FinishReason::kError) ++num_corrupted_;
    if (event.token_id != kNoToken) {
      if (times.first_token == TimePoint{}) times.first_token = now;
      times.last_token = now;
    }
    event.times = times;
  }
}

// One call a sink, so that each front end is woken once. Nearly always there is one sink, and the
// events stay where they are.
void EngineCore::publish() {
  for (auto first = events_.begin(); first != events_.end();) {
    TokenEventSink* const sink = live_.at(first->seq_id).sink;
    const auto is_for_sink = [this, sink](const TokenEvent& event) {
      return live_.at(event.seq_id).sink == sink;
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
      live_.erase(seq_id);
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
  for (const auto& [seq_id, live] : live_) {
    TokenEvent event;
    event.seq_id = seq_id;
    event.times = live.times;
    event.finish_reason = reason;
    event.error_message = std::string(why);
    events_.push_back(std::move(event));
    if (trace_ == nullptr) continue;
    trace_->add(trace::EventKind::kSequenceFinished, seq_id,
                {static_cast<std::int32_t>(reason), -1, -1});
  }
  if (trace_ != nullptr) trace_->flush();
  publish();
}

void EngineCore::trace_time(TimePoint now) {
  if (trace_ != nullptr) trace_->set_time(now);
}

// Before the events are published: whoever is woken by them finds the step in the ring. So how long
// publishing takes is not in it.
void EngineCore::trace_step(const StepReport& report) {
  const auto us = [](std::chrono::nanoseconds phase) {
    return static_cast<std::int32_t>(phase / std::chrono::microseconds(1));
  };
  const StepTimings& timings = report.timings;
  if (report.num_sequences > 0) {
    trace_->add(trace::EventKind::kStepTimings, {},
                {us(timings.schedule), us(timings.execution.build), us(timings.execution.forward),
                 us(timings.execution.sample), us(timings.apply)});
  }
  trace_->flush();
}

}  // namespace tvllm::engine
