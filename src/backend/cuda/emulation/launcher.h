// SPDX-License-Identifier: Apache-2.0
// Runs a kernel on the emulated device.
#pragma once

#include <functional>

#include "backend/cuda/emulation/builtins.h"
#include "base/result.h"

namespace tvllm::cuda::emulation {

struct KernelCall;

// All blocks of the grid, in parallel on the CPU's threads. Returns when the last one has ended, or
// after a fault, of which the error tells: kernel, block, thread and what was wrong. Of several
// faults that of the first block is told, so that every run says the same. Thread-safe: launches
// run one after another.
Status run_grid(const KernelCall& call);

// Around the kernel's call, on the fiber: accesses are checked in between.
void enter_kernel();
void leave_kernel();

// How many threads of the operating system run blocks: default_num_threads() until this is called.
// REQUIRES: num_workers >= 1, no launch is running
void set_num_workers(int num_workers);

}  // namespace tvllm::cuda::emulation
