// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tvllm::cli {

// While one lives, Ctrl-C only sets a flag. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;
};

}  // namespace tvllm::cli
