// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

namespace tvllm {

// When a sequence reached what, on the engine's clock; the epoch for what it has not reached.
//
//   arrival (front end) .. queued .. scheduled .. first_token .. last_token
//                          |  queue  |  prefill   |    decode    |
struct SequenceTimes {
  TimePoint queued = {};  // the engine took it in
  // Its last admission before the first token. A preemption after that lengthens the decode, as the
  // tokens that were made are kept.
  TimePoint scheduled = {};
  TimePoint first_token = {};  // the end of the step that gave it
  TimePoint last_token = {};
};

}  // namespace tvllm
