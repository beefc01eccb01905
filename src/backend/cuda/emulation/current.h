// SPDX-License-Identifier: Apache-2.0
// The emulated thread that runs on this thread of the operating system, and how it fails.
#pragma once

#include <cstdint>
#include <string>

#include "base/check.h"

namespace tvllm::cuda::emulation {

class BlockRunner;

struct Current {
  BlockRunner* runner = nullptr;  // null outside of kernels
  // Whether accesses are those of a kernel. False in the emulation's own functions: the linker may
  // have taken an instrumented copy of an inline function for them.
  bool checking = false;
  std::uintptr_t stack_begin = 0;
  std::uintptr_t stack_end = 0;
  // Checked accesses until the others get their turn.
  int num_accesses_left = kAccessesPerTurn;

  // A few milliseconds: a thread that waits in a loop for what another one writes lets it run.
  static constexpr int kAccessesPerTurn = 1 << 20;
};
extern constinit thread_local Current t_current;

// Stands at the top of each of the emulation's functions that kernels call.
class InEmulation {
 public:
  explicit InEmulation(const char* function) {
    TVLLM_CHECK(t_current.runner != nullptr, function, " was called outside of a kernel");
    t_current.checking = false;
  }
  ~InEmulation() { t_current.checking = true; }
  InEmulation(const InEmulation&) = delete;
  InEmulation& operator=(const InEmulation&) = delete;
};

// Ends the launch: it returns an error that names kernel, block and thread before the sentence. The
// running thread and all others of its block are left where they stand and no destructor runs, so
// the caller holds nothing but `sentence`.
[[noreturn]] void fault(std::string sentence);
// The same in the name of another thread of the block.
[[noreturn]] void fault_of(int thread_idx, std::string sentence);

}  // namespace tvllm::cuda::emulation
