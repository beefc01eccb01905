// SPDX-License-Identifier: Apache-2.0
// CUDA's keywords, vector types and index variables for g++, so that a .cu file reads the same.
// Kernels include backend/cuda/device.cuh, which chooses between this and the toolkit.
//
// `__shared__` is `static thread_local`: a block runs on one thread of the operating system, and a
// variable of that kind exists once per declaration and template instance, as in CUDA. Only
// SharedArray may be declared so.
#pragma once

#include <cstdint>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): CUDA's own names
#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
};

// The vector types with the alignment that CUDA gives them: one access of the whole.
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline int2 make_int2(int x, int y) {
  return {x, y};
}
inline int4 make_int4(int x, int y, int z, int w) {
  return {x, y, z, w};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

// Set at each switch between threads of a block. Thread-local variables are not checked by the
// access hooks, so reading one costs a load.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
