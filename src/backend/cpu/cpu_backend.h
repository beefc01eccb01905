// SPDX-License-Identifier: Apache-2.0
// The CPU backend's front door: what --cpu-isa and --threads become.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cpu/cpu_isa.h"
#include "base/result.h"
#include "base/thread_pool.h"

namespace tvllm::cpu {

struct CpuBackendOptions {
  CpuIsa isa = CpuIsa::kAuto;
};

// A backend that computes with the workers of `pool`, which outlives it. Its memory is the host's:
// Buffer::data and every TensorView are ordinary pointers, tensors are F32, results are ready when
// a call returns. Thread-compatible: calls come one at a time, while nobody else runs the pool.
//
// An instruction set that this build or this machine lacks is an error that names what is there.
Result<std::unique_ptr<backend::Backend>> make_cpu_backend(const CpuBackendOptions& options,
                                                           ThreadPool& pool);

}  // namespace tvllm::cpu
