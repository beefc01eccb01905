// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "bench/step_profile.h"

namespace tvllm::bench {

// A table of the two groups: steps, tokens a second, and milliseconds a step by phase. A group
// without steps shows dashes.
std::string step_table(const StepGroup& prefill, const StepGroup& decode);

boost::json::object step_json(const StepGroup& group);

}  // namespace tvllm::bench
