// SPDX-License-Identifier: Apache-2.0
// The ladder: c = a * b on a GPU, rung by rung faster. Each rung is one file, matmul_N_*.cu, and
// does the same for every shape; docs/matmul-ladder.md tells what each one gains and why.
#pragma once

#include <span>

#include "backend/cuda/numbers.h"
#include "backend/cuda/runtime/stream.h"

namespace tvllm::examples {

using cuda::Bf16;
using cuda::Stream;

// Row-major. a: [m, k], b: [k, n], c: [m, n]; all three at least 1.
struct MatmulShape {
  int m = 0;
  int n = 0;
  int k = 0;
};

// Operands of one product, device pointers. Sums are f32; c is rounded to T at the end.
template <typename T>
struct Matmul {
  const T* a = nullptr;
  const T* b = nullptr;
  T* c = nullptr;
  MatmulShape shape = {};
};

template <typename T>
using MatmulFn = Status (*)(const Stream& stream, const Matmul<T>& product);

struct Rung {
  const char* name = "";
  MatmulFn<float> f32 = nullptr;  // null: not there
  MatmulFn<Bf16> bf16 = nullptr;
  // Of f32: tensor cores round operands to tf32, 10 bits of mantissa.
  bool rounds_to_tf32 = false;
  // Runs on Hopper alone, not in the emulation.
  bool is_device_only = false;
};

// In order. Where nvcc is not, without those that are device only.
std::span<const Rung> matmul_rungs();

// --- the rungs: T is float or Bf16
// -------------------------------------------------------------------

template <typename T>
Status matmul_naive(const Stream& stream, const Matmul<T>& product);
template <typename T>
Status matmul_coalesced(const Stream& stream, const Matmul<T>& product);
template <typename T>
Status matmul_shared_tiles(const Stream& stream, const Matmul<T>& product);
template <typename T>
Status matmul_register_tiles(const Stream& stream, const Matmul<T>& product);
template <typename T>
Status matmul_double_buffered(const Stream& stream, const Matmul<T>& product);
Status matmul_tensor_cores_f32(const Stream& stream, const Matmul<float>& product);
Status matmul_tensor_cores_bf16(const Stream& stream, const Matmul<Bf16>& product);
// device_only
Status matmul_wgmma_bf16(const Stream& stream, const Matmul<Bf16>& product);

}  // namespace tvllm::examples
