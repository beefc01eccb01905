// SPDX-License-Identifier: Apache-2.0
// The 16-bit floats as types that host, kernels and emulation share: bits, and conversions by name.
// No arithmetic: sums are kept in f32, and products are the tensor cores' business.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define TVLLM_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TVLLM_HOST_DEVICE inline
#endif

#include "tensor/half.h"

namespace tvllm::cuda {

struct Bf16 {
  std::uint16_t bits;
  friend bool operator==(Bf16, Bf16) = default;
};

struct F16 {
  std::uint16_t bits;
  friend bool operator==(F16, F16) = default;
};

TVLLM_HOST_DEVICE float to_float(float value) {
  return value;
}

TVLLM_HOST_DEVICE float to_float(Bf16 value) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
#else
  return bf16_to_f32(value.bits);
#endif
}

TVLLM_HOST_DEVICE float to_float(F16 value) {
#ifdef __CUDA_ARCH__
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#else
  return f16_to_f32(value.bits);
#endif
}

// To nearest, ties to even. from_float<Bf16>(x)
template <typename T>
TVLLM_HOST_DEVICE T from_float(float value);

template <>
TVLLM_HOST_DEVICE float from_float<float>(float value) {
  return value;
}

template <>
TVLLM_HOST_DEVICE Bf16 from_float<Bf16>(float value) {
#ifdef __CUDA_ARCH__
  Bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
#else
  return Bf16{f32_to_bf16(value)};
#endif
}

template <>
TVLLM_HOST_DEVICE F16 from_float<F16>(float value) {
#ifdef __CUDA_ARCH__
  F16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
#else
  return F16{f32_to_f16(value)};
#endif
}

}  // namespace tvllm::cuda
