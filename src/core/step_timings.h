// SPDX-License-Identifier: Apache-2.0
// How long the phases of a step took and what it computed: for metrics, the step-time target and
// the trace. Plain values.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "core/step_plan.h"

namespace tvllm {

// The executor's phases, in this order.
struct ExecutionTimings {
  std::chrono::nanoseconds build = {};    // plan to batch
  std::chrono::nanoseconds forward = {};  // layers and logits
  std::chrono::nanoseconds sample = {};   // logits to tokens and log-probabilities
};

// All phases of a step, in this order. With two steps in flight another step's schedule phase may
// lie between execution and apply, so they need not add up to the time between two steps.
struct StepTimings {
  TimePoint start = {};  // of the schedule phase
  std::chrono::nanoseconds schedule = {};
  ExecutionTimings execution = {};
  std::chrono::nanoseconds apply = {};    // the scheduler takes in the result
  std::chrono::nanoseconds publish = {};  // events go to their sinks

  std::chrono::nanoseconds total() const {
    return schedule + execution.build + execution.forward + execution.sample + apply + publish;
  }
};

// What a step computed and how long it took. A plan that only ended sequences has no tokens.
struct StepReport {
  std::uint64_t step_id = 0;
  std::int32_t num_sequences = 0;
  std::int32_t num_decode_tokens = 0;   // of sequences that computed one token
  std::int32_t num_prefill_tokens = 0;  // of all others
  std::int64_t num_context_tokens = 0;  // positions that new tokens attend to, summed over them
  StepTimings timings = {};

  std::int32_t num_tokens() const { return num_decode_tokens + num_prefill_tokens; }
};

// Without timings.
inline StepReport report_of(const StepPlan& plan) {
  StepReport report;
  report.step_id = plan.step_id;
  report.num_sequences = static_cast<std::int32_t>(plan.sequences.size());
  for (const PlannedSequence& planned : plan.sequences) {
    const std::int64_t num_new = planned.num_new_tokens;
    (num_new == 1 ? report.num_decode_tokens : report.num_prefill_tokens) += planned.num_new_tokens;
    // The token at position p attends to p + 1 positions.
    report.num_context_tokens +=
        num_new * planned.num_computed_tokens + num_new * (num_new + 1) / 2;
  }
  return report;
}

// Reads the clock once at each border between two phases. Thread-compatible.
class PhaseTimer {
 public:
  explicit PhaseTimer(const Clock& clock) : clock_(clock), border_(clock.now()) {}

  // When the current phase began.
  TimePoint border() const { return border_; }

  // Adds what has passed since the last border to `phase`.
  void end_phase(std::chrono::nanoseconds& phase) {
    const TimePoint now = clock_.now();
    phase += now - border_;
    border_ = now;
  }

 private:
  const Clock& clock_;
  TimePoint border_;
};

}  // namespace tvllm
