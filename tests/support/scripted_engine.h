// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/engine_options.h"
#include "core/step_plan.h"
#include "core/token_event.h"
#include "scheduler/scheduler.h"
#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_executor.h"

namespace tvllm::testing {

// A scheduler and a scripted executor in the engine's loop, without threads: up to `depth` plans in
// flight. check_invariants() runs after every plan and every apply.
class ScriptedEngine {
 public:
  ScriptedEngine(const SchedulerOptions& options, int depth, std::int32_t vocab_size,
                 trace::TraceRecorder* trace = nullptr)
      : scheduler_(options, {kEos}, trace),
        executor_({.max_steps_in_flight = depth,
                   .max_num_seqs = options.max_num_seqs,
                   .max_num_batched_tokens = options.max_num_batched_tokens,
                   .num_kv_groups = options.num_kv_groups,
                   .kv_windows = options.kv_windows,
                   .block_size = options.block_size,
                   .num_blocks = options.num_blocks,
                   .vocab_size = vocab_size}) {}

  scheduler::Scheduler& scheduler() { return scheduler_; }
  ScriptedExecutor& executor() { return executor_; }
  bool has_work() const { return scheduler_.has_work() || !in_flight_.empty(); }

  // Makes and submits a plan, then collects the oldest one if that is due. Events are appended to
  // `events`. Do not go on after a violation of the executor.
  const StepPlan& step(std::vector<TokenEvent>& events,
                       std::int32_t prefill_allowance = scheduler::kNoPrefillBound) {
    const StepPlan& plan = submit(prefill_allowance);
    if (executor_.violation().empty()) collect_if_due(plan, events);
    return plan;
  }

  // The halves of step(), for tests that cancel in between. A plan that needs no executor is not
  // submitted.
  const StepPlan& submit(std::int32_t prefill_allowance = scheduler::kNoPrefillBound) {
    StepPlan& plan = plans_[num_plans_ % plans_.size()];
    scheduler_.plan(plan, prefill_allowance);
    scheduler_.check_invariants();
    if (plan.empty() && plan.released_slots.empty()) return plan;
    executor_.submit(plan);
    in_flight_.push_back(&plan);
    ++num_plans_;
    return plan;
  }
  // Due when there may be no further plan in flight, or the newest had nothing to do.
  void collect_if_due(const StepPlan& newest, std::vector<TokenEvent>& events) {
    const bool is_full =
        in_flight_.size() == static_cast<std::size_t>(executor_.max_steps_in_flight());
    if (!is_full && !newest.empty()) return;
    if (in_flight_.empty()) {
      scheduler_.apply(newest, StepResult{}, events);
    } else {
      scheduler_.apply(*in_flight_.front(), executor_.collect(), events);
      in_flight_.pop_front();
    }
    scheduler_.check_invariants();
  }

 private:
  scheduler::Scheduler scheduler_;
  ScriptedExecutor executor_;
  std::array<StepPlan, 2> plans_;
  std::uint64_t num_plans_ = 0;
  std::deque<const StepPlan*> in_flight_;
};

}  // namespace tvllm::testing
