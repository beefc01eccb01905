// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

namespace tvllm::testing {

// Time that moves only when told to. Thread-compatible.
class VirtualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration duration) { now_ += duration; }
  void advance_to(TimePoint time) { now_ = time; }

 private:
  TimePoint now_{};
};

}  // namespace tvllm::testing
