// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backend/cpu/host_memory.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/weight_matrix.h"
#include "base/thread_pool.h"
#include "tensor/tensor_view.h"

namespace tvllm::cpu {

// Runs matrix products on all workers: activations are quantized once where a part of the matrix
// wants them so, then every worker multiplies its share of the weight rows with all tokens. A
// worker has the same rows at every call. Engine thread.
class MatmulRunner {
 public:
  MatmulRunner(const KernelTable& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // out[t, r] = weight[r, :] * x[t, :] + bias[r]; `bias` may be null.
  void run(const WeightMatrix& weight, ConstFloatMatrix x, const float* bias, FloatMatrix out);

 private:
  void quantize(ConstFloatMatrix x, unsigned forms, std::size_t row_bytes);

  const KernelTable& kernels_;
  ThreadPool& pool_;        // both outlive the runner
  Scratch quantized_;       // [num_tokens] rows of quantized activations
  Scratch worker_scratch_;  // a slice a worker
};

}  // namespace tvllm::cpu
