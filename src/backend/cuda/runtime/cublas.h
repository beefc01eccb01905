// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/cuda/numbers.h"
#include "backend/cuda/runtime/buffer.h"
#include "backend/cuda/runtime/stream.h"

namespace tvllm::cuda {

enum class Precision : std::uint8_t {
  kF32,
  kTf32,  // operands rounded to 10 bits of mantissa, for the tensor cores
};

// Dense products by cuBLASLt, the library's choice of kernel. On a GPU only; thread-compatible: one
// workspace, so products follow each other in one stream.
class Cublas {
 public:
  static Result<Cublas> create(Device& device);
  Cublas(Cublas&&) noexcept;
  Cublas& operator=(Cublas&&) noexcept;
  ~Cublas();

  // c = a * b, row-major device memory. a: [m, k], b: [k, n], c: [m, n]
  Status matmul(const Stream& stream, const float* a, const float* b, float* c, int m, int n, int k,
                Precision precision);
  Status matmul(const Stream& stream, const Bf16* a, const Bf16* b, Bf16* c, int m, int n, int k);

 private:
  struct State;
  explicit Cublas(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace tvllm::cuda
