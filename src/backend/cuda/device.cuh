// SPDX-License-Identifier: Apache-2.0
// The one header that kernels need: CUDA's keywords and functions, from the toolkit under nvcc and
// from the emulation under g++, and what the project adds to them.
//
//   __global__ void scale_kernel(float* x, float factor, int n) {   // x: [n]
//     __shared__ SharedArray<float, 256> tile;
//     ...
//   }
//
// Host code (launchers) includes backend/cuda/runtime/launch.h.
#pragma once

#include <cstdint>

#include "backend/cuda/numbers.h"

#ifdef __CUDACC__
#define TVLLM_UNROLL _Pragma("unroll")
#else
#include "backend/cuda/emulation/intrinsics.h"
#include "backend/cuda/emulation/shared_memory.h"
#define TVLLM_UNROLL
#endif

namespace tvllm::cuda {

inline constexpr unsigned kFullMask = 0xffffffffu;

#ifdef __CUDACC__
// An array in shared memory, declared `__shared__`. Begins at a multiple of 16 bytes, so that it
// may be accessed as vectors. In the emulation indices are checked.
template <typename T, int N>
struct SharedArray {
  alignas(16) T items[N];

  __device__ __forceinline__ T& operator[](int index) { return items[index]; }
  __device__ __forceinline__ T* data() { return items; }
  static constexpr int size() { return N; }
};

// The shared memory whose size the launch gave; one array a kernel.
template <typename T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char tvllm_dynamic_shared[];
  return reinterpret_cast<T*>(tvllm_dynamic_shared);
}
#else
using emulation::SharedArray;

template <typename T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(emulation::dynamic_shared_bytes());
}
#endif

// One access of 8 or 16 bytes; the address is a multiple of it, which the emulation checks. V:
// float4 and the like.
template <typename V>
__device__ __forceinline__ V load_vector(const void* from) {
#ifndef __CUDACC__
  emulation::check_vector(from, sizeof(V), false);
#endif
  return *static_cast<const V*>(from);
}
template <typename V>
__device__ __forceinline__ void store_vector(void* to, V value) {
#ifndef __CUDACC__
  emulation::check_vector(to, sizeof(V), true);
#endif
  *static_cast<V*>(to) = value;
}

template <typename T>
__host__ __device__ constexpr T ceil_div(T value, T divisor) {
  return (value + divisor - 1) / divisor;
}

__device__ __forceinline__ int lane_idx() {
  return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) %
                          32);
}

}  // namespace tvllm::cuda
