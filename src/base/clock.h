// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tvllm {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Monotonic time behind an interface, so that simulations run on a virtual clock. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

// The process's one.
inline const Clock& steady_clock() {
  static const SteadyClock clock;
  return clock;
}

inline double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace tvllm
