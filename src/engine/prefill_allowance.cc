// SPDX-License-Identifier: Apache-2.0
#include "engine/prefill_allowance.h"

#include <algorithm>

#include "scheduler/scheduler.h"

namespace tvllm::engine {

std::int32_t PrefillAllowance::tokens(const UpcomingStep& step) const {
  if (target_.mode == StepTimeTarget::Mode::kOff || step.decodes.num_decode_tokens == 0 ||
      !cost_.has_estimate()) {
    return scheduler::kNoPrefillBound;
  }
  const double seconds = target_.mode == StepTimeTarget::Mode::kFixed
                             ? target_.seconds
                             : kAutoFactor * cost_.predict(step.decodes);
  const double num_tokens =
      cost_.prefill_tokens_within(seconds, step.decodes, step.prefill_position);
  constexpr double kMost = scheduler::kNoPrefillBound;
  return std::max(kMinTokens, static_cast<std::int32_t>(std::min(num_tokens, kMost)));
}

}  // namespace tvllm::engine
