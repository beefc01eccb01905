// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "engine/step_cost_model.h"
#include "scheduler/scheduler.h"

namespace tvllm::engine {

// --target-step-ms.
struct StepTimeTarget {
  enum class Mode {
    kAuto,   // a multiple of what the decodes alone would take
    kFixed,  // `seconds`
    kOff,    // prompts take the whole token budget
  };
  Mode mode = Mode::kOff;
  double seconds = 0.0;  // with kFixed
};

// "auto", "0" for off, or milliseconds.
Result<StepTimeTarget> parse_step_time_target(std::string_view milliseconds);

// How many prompt tokens a step may carry beside decodes, so that the streams that are running go
// on at a pace that their readers accept while long prompts are computed.
//
// kNoPrefillBound while nobody decodes, before the first estimate, and when off. Never below
// kMinTokens: prompts advance in every step, so that none waits without bound even if the decodes
// alone take longer than the target.
//
// Thread-compatible. Knows no clock: the engine tells what steps took.
class PrefillAllowance {
 public:
  // Three quarters of the time of such a step are left to prompts; the gap between two tokens of a
  // stream stays below four times that of decodes alone.
  static constexpr double kAutoFactor = 3.5;
  static constexpr std::int32_t kMinTokens = 8;

  explicit PrefillAllowance(const StepTimeTarget& target) : target_(target) {}

  void observe(const StepLoad& load, double seconds) { cost_.observe(load, seconds); }
  std::int32_t tokens(const scheduler::UpcomingLoad& upcoming) const;

  const StepCostModel& cost() const { return cost_; }

 private:
  const StepTimeTarget target_;
  StepCostModel cost_;
};

}  // namespace tvllm::engine
