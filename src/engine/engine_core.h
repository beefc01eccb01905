// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "core/step_plan.h"
#include "core/step_timings.h"
#include "core/token_event.h"
#include "engine/engine_client.h"
#include "engine/inbox.h"
#include "engine/prefill_allowance.h"
#include "executor/model_executor.h"
#include "scheduler/scheduler.h"

namespace tvllm::engine {

// The heart: one step takes in what clients said, plans, executes, applies the result and publishes
// its events. Engine thread only; drives a scheduler and an executor that it does not own.
//
// Up to max_steps_in_flight() plans are with the executor at once; plan i lies in plans_[i % 2].
//
// Invariant: every sequence that was taken in gets exactly one event with a finish reason, and none
// after it.
class EngineCore {
 public:
  // All outlive the core.
  EngineCore(scheduler::Scheduler& scheduler, executor::ModelExecutor& executor,
             const StepTimeTarget& target = {}, const Clock& clock = steady_clock());

  void add(Arrival arrival);
  void cancel(SeqId seq_id);

  // True when step() would do something.
  bool has_work() const;

  void step();

  // Ends every sequence with an error event: the device died or a step threw.
  void fail_all(std::string_view why);
  // Ends every sequence with an abort event: the drain's time is over.
  void abort_all();

  std::uint64_t num_steps() const { return num_planned_; }

  // Of the step whose result was applied last; num_collected_steps() says whether that is a new
  // one.
  const StepReport& last_step() const { return last_step_; }
  std::uint64_t num_collected_steps() const { return num_collected_; }
  const StepTotals& step_totals() const { return totals_; }
  // Sequences that ended because their logits were no numbers.
  std::uint64_t num_corrupted() const { return num_corrupted_; }

 private:
  // What the core keeps of a sequence from add() to its last event.
  struct Live {
    TokenEventSink* sink = nullptr;
    SequenceTimes times = {};
  };

  std::uint64_t num_in_flight() const;
  bool may_submit() const;
  bool submit_next();
  void collect_oldest();
  void account_for_step();
  // Put the time into what live_ knows of sequences, and that into the events.
  void stamp_starts(const StepPlan& plan, TimePoint now);
  void stamp_events(TimePoint now);
  void publish();
  void end_all(FinishReason reason, std::string_view why);
  // Tells the trace the time, where there is one.
  void trace_time(TimePoint now);
  void trace_step(const StepReport& report);

  scheduler::Scheduler& scheduler_;
  executor::ModelExecutor& executor_;
  const Clock& clock_;
  trace::TraceRecorder* const trace_;  // the scheduler's; null when nothing is traced
  PrefillAllowance allowance_;
  std::array<StepPlan, 2> plans_;
  std::array<StepReport, 2> reports_;  // of plans_; complete once the result is applied
  StepReport last_step_;
  StepTotals totals_;
  std::uint64_t num_corrupted_ = 0;
  std::uint64_t num_planned_ = 0;    // plans submitted
  std::uint64_t num_collected_ = 0;  // results applied

  std::unordered_map<SeqId, Live> live_;
  std::vector<TokenEvent> events_;  // of this step, before they go to their sinks
  std::vector<SeqId> ended_;        // of one call of a sink
};

}  // namespace tvllm::engine
