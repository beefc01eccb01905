// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_core.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"

namespace tvllm::engine {

namespace {
// The step-time target will bound prefill beside decodes; until then a step takes what its token
// budget allows.
constexpr std::int32_t kNoPrefillLimit = std::numeric_limits<std::int32_t>::max();
}  // namespace

EngineCore::EngineCore(scheduler::Scheduler& scheduler, executor::ModelExecutor& executor)
    : scheduler_(scheduler), executor_(executor) {
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
  publish();
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
  scheduler_.plan(plan, kNoPrefillLimit);
  if (plan.empty() && plan.released_slots.empty() && num_in_flight() > 0) return false;
  plan.step_id = num_planned_;
  executor_.submit(plan);
  ++num_planned_;
  return true;
}

void EngineCore::collect_oldest() {
  const StepPlan& plan = plans_[num_collected_ % plans_.size()];
  scheduler_.apply(plan, executor_.collect(), events_);
  ++num_collected_;
}

// Groups the step's events by sink, so that each front end is woken once.
void EngineCore::publish() {
  while (!events_.empty()) {
    TokenEventSink* const sink = sinks_.at(events_.front().seq_id);
    std::vector<TokenEvent> batch;
    std::size_t num_kept = 0;
    for (TokenEvent& event : events_) {
      if (sinks_.at(event.seq_id) == sink) {
        batch.push_back(std::move(event));
      } else {
        events_[num_kept++] = std::move(event);
      }
    }
    events_.resize(num_kept);
    for (const TokenEvent& event : batch) {
      if (event.finish_reason != FinishReason::kNone) sinks_.erase(event.seq_id);
    }
    sink->publish(std::move(batch));
  }
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
