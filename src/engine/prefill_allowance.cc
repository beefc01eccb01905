// SPDX-License-Identifier: Apache-2.0
#include "engine/prefill_allowance.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"

namespace tvllm::engine {

Result<StepTimeTarget> parse_step_time_target(std::string_view milliseconds) {
  constexpr double kMostMs = 60'000.0;
  if (milliseconds == "auto") return StepTimeTarget{.mode = StepTimeTarget::Mode::kAuto};
  const std::optional<double> value = parse_double(milliseconds);
  if (!value || *value < 0.0 || *value > kMostMs) {
    return invalid_argument(str_cat("--target-step-ms must be auto, 0 (off) or milliseconds up to ",
                                    kMostMs, ", got ", quoted(milliseconds)),
                            "target-step-ms");
  }
  if (*value == 0.0) return StepTimeTarget{.mode = StepTimeTarget::Mode::kOff};
  return StepTimeTarget{.mode = StepTimeTarget::Mode::kFixed, .seconds = *value / 1000.0};
}

std::int32_t PrefillAllowance::tokens(const scheduler::UpcomingLoad& upcoming) const {
  if (target_.mode == StepTimeTarget::Mode::kOff || upcoming.num_decode_tokens == 0 ||
      !cost_.has_estimate()) {
    return scheduler::kNoPrefillBound;
  }
  const StepLoad decodes = {.num_decode_tokens = upcoming.num_decode_tokens,
                            .num_context_tokens = upcoming.num_context_tokens};
  const double seconds = target_.mode == StepTimeTarget::Mode::kFixed
                             ? target_.seconds
                             : kAutoFactor * cost_.predict(decodes);
  const double num_tokens =
      cost_.prefill_tokens_within(seconds, decodes, upcoming.prefill_position);
  constexpr double kMost = scheduler::kNoPrefillBound;
  return std::max(kMinTokens, static_cast<std::int32_t>(std::min(num_tokens, kMost)));
}

}  // namespace tvllm::engine
