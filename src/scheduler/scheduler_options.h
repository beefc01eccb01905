// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"
#include "core/engine_options.h"

namespace tvllm::scheduler {

// Whether each option is in its range and all make sense together. They come from the command line,
// so this is asked before a Scheduler is made. `error.param` names the option.
Status check_scheduler_options(const SchedulerOptions& options);

// Tokens of one sequence in plans that were submitted and not applied yet, at most: the engine owns
// two plans.
constexpr std::int32_t max_tokens_in_flight(std::int32_t max_num_batched_tokens) {
  return 2 * max_num_batched_tokens;
}

}  // namespace tvllm::scheduler
