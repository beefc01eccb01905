// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most, measured: the yardstick for kernels.
#pragma once

#include "base/thread_pool.h"

namespace tvllm::bench {

struct MachinePeak {
  double read_gb_per_s = 0.0;     // all threads reading memory that is in no cache
  double int8_gop_per_s = 0.0;    // products of bytes, a multiplication and an addition each
  double fp32_gflop_per_s = 0.0;  // fused multiply-adds, two operations each
};

// Zeros where there is no loop for this processor. Takes about a second.
MachinePeak measure_machine_peak(ThreadPool& pool);

}  // namespace tvllm::bench
