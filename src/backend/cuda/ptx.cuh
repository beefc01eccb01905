// SPDX-License-Identifier: Apache-2.0
// Instructions that C++ has no name for, one function each; Hopper's are in ptx_sm90.cuh. Nowhere
// else stands PTX but for the conversions in numbers.h. Each has an emulated twin
// (emulation/ptx_twins.h) by which kernels are tested; the strings are checked on a device alone.
//
// Fragments of mma: with g = lane / 4 and t = lane % 4, register r of A holds row g + 8 * (r % 2)
// from column n * (t + 4 * (r / 2)) on, register r of B column g from row n * (t + 4 * r) on, n
// numbers a register; accumulator i is row g + 8 * (i / 2), column 2t + i % 2.
#pragma once

#include "backend/cuda/device.cuh"

#ifdef __CUDACC__
#define TVLLM_PLACE
#else
#include "backend/cuda/emulation/ptx_twins.h"
#define TVLLM_PLACE , emulation::Place place = {__builtin_FILE(), __builtin_LINE()}
#endif

namespace tvllm::cuda::ptx {

#ifdef __CUDACC__
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
#endif

// --- cp.async (sm_80)
// --------------------------------------------------------------------------------

// Copies kBytes (4, 8 or 16, both addresses multiples of it) to shared memory beside the thread.
// The first `num_from_bytes` are read, the rest is zero: 0 for what lies outside of a matrix.
template <int kBytes>
__device__ __forceinline__ void cp_async(void* to_shared, const void* from_global,
                                         int num_from_bytes = kBytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
#ifdef __CUDACC__
  if constexpr (kBytes == 16) {  // past the L1 cache, which holds nothing that is read once
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to_shared)),
                 "l"(from_global), "r"(num_from_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to_shared)),
                 "l"(from_global), "n"(kBytes), "r"(num_from_bytes)
                 : "memory");
  }
#else
  emulation::cp_async(to_shared, from_global, kBytes, num_from_bytes);
#endif
}

// Copies begun since the last commit become a group.
__device__ __forceinline__ void cp_async_commit() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulation::cp_async_commit();
#endif
}

// Waits until at most kGroups of the newest groups are in flight. Other threads see the bytes after
// a barrier.
template <int kGroups>
__device__ __forceinline__ void cp_async_wait() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#else
  emulation::cp_async_wait(kGroups);
#endif
}

// --- ldmatrix (sm_75)
// --------------------------------------------------------------------------------

// Lane 8 * m + r points to row r, 16 bytes, of matrix m in shared memory. Register m: elements (g,
// 2t) and (g, 2t + 1) of matrix m.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&registers)[4],
                                            const void* row TVLLM_PLACE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(row))
               : "memory");
#else
  emulation::ldmatrix(registers, row, 4, false, place);
#endif
}

__device__ __forceinline__ void ldmatrix_x2(std::uint32_t (&registers)[2],
                                            const void* row TVLLM_PLACE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(registers[0]), "=r"(registers[1])
               : "r"(shared_address(row))
               : "memory");
#else
  emulation::ldmatrix(registers, row, 2, false, place);
#endif
}

// Transposed: elements (2t, g) and (2t + 1, g), which is a B fragment of a row-major matrix.
__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&registers)[4],
                                                  const void* row TVLLM_PLACE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(row))
               : "memory");
#else
  emulation::ldmatrix(registers, row, 4, true, place);
#endif
}

__device__ __forceinline__ void ldmatrix_x2_trans(std::uint32_t (&registers)[2],
                                                  const void* row TVLLM_PLACE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(registers[0]), "=r"(registers[1])
               : "r"(shared_address(row))
               : "memory");
#else
  emulation::ldmatrix(registers, row, 2, true, place);
#endif
}

// --- mma.sync (sm_80)
// --------------------------------------------------------------------------------

// d = a * b + c, two numbers a register.
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2],
                                                  const float (&c)[4] TVLLM_PLACE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
        "f"(c[2]), "f"(c[3]));
#else
  emulation::mma_f32(emulation::MmaType::kBf16, d, a, b, c, place);
#endif
}

// The same for f16.
__device__ __forceinline__ void mma_m16n8k16_f16(float (&d)[4], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2],
                                                 const float (&c)[4] TVLLM_PLACE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
        "f"(c[2]), "f"(c[3]));
#else
  emulation::mma_f32(emulation::MmaType::kF16, d, a, b, c, place);
#endif
}

// One number a register: f32 of which the low 13 bits are not looked at; see round_to_tf32().
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2],
                                                 const float (&c)[4] TVLLM_PLACE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
        "f"(c[2]), "f"(c[3]));
#else
  emulation::mma_f32(emulation::MmaType::kTf32, d, a, b, c, place);
#endif
}

// Four signed bytes a register.
__device__ __forceinline__ void mma_m16n8k32_s8(std::int32_t (&d)[4], const std::uint32_t (&a)[4],
                                                const std::uint32_t (&b)[2],
                                                const std::int32_t (&c)[4] TVLLM_PLACE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]),
        "r"(c[2]), "r"(c[3]));
#else
  emulation::mma_s32(d, a, b, c, place);
#endif
}

// To the nearest number of 10 mantissa bits, ties away from zero.
__device__ __forceinline__ std::uint32_t round_to_tf32(float value) {
#ifdef __CUDACC__
  std::uint32_t result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
  return result;
#else
  const std::uint32_t bits = __float_as_uint(value);
  const bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
  return (is_finite ? bits + 0x1000u : bits) & 0xffffe000u;
#endif
}

}  // namespace tvllm::cuda::ptx

#undef TVLLM_PLACE
