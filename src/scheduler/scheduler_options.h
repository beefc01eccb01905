// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "core/engine_options.h"

namespace tvllm::scheduler {

// Whether each option is in its range and all make sense together. They come from the command line,
// so this is asked before a Scheduler is made. `error.param` names the option.
Status check_scheduler_options(const SchedulerOptions& options);

}  // namespace tvllm::scheduler
