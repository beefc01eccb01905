// SPDX-License-Identifier: Apache-2.0
// CUDA's functions for kernels, under their own names, for g++: barriers, warp operations, atomics
// and the few bit and math functions that the standard library lacks.
//
// A place in the source (file and line) comes along as a default argument: it names what a thread
// waits for, and tells two barriers apart.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/emulation/builtins.h"

namespace tvllm::cuda::emulation {

struct Place {
  const char* file;
  int line;
};

enum class BarrierKind : std::uint8_t { kPlain, kCount, kAnd, kOr };
int block_barrier(BarrierKind kind, int predicate, Place place);
void warp_barrier(std::uint32_t mask, Place place);

enum class ShuffleKind : std::uint8_t { kIdx, kUp, kDown, kXor };
// Exchanges `num_bytes` (4 or 8) of each lane in `mask`.
void shuffle(ShuffleKind kind, std::uint32_t mask, const void* value, void* result, int num_bytes,
             unsigned lane_argument, int width, Place place);
std::uint32_t ballot(std::uint32_t mask, int predicate, Place place);
enum class ReduceKind : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };
std::uint32_t reduce_unsigned(ReduceKind kind, std::uint32_t mask, std::uint32_t value,
                              Place place);

enum class AtomicKind : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange };
int atomic(AtomicKind kind, int* address, int operand);
unsigned atomic(AtomicKind kind, unsigned* address, unsigned operand);
unsigned long long atomic(AtomicKind kind, unsigned long long* address, unsigned long long operand);
float atomic(AtomicKind kind, float* address, float operand);
double atomic(AtomicKind kind, double* address, double operand);
int compare_and_swap(int* address, int expected, int desired);
unsigned compare_and_swap(unsigned* address, unsigned expected, unsigned desired);
unsigned long long compare_and_swap(unsigned long long* address, unsigned long long expected,
                                    unsigned long long desired);

// Of an access by load_vector() or store_vector().
void check_vector(const void* address, std::size_t bytes, bool is_write);

// Lets the other threads of the block run: inside loops that wait for one of them.
void yield_thread();

template <typename T>
T shuffle_value(ShuffleKind kind, std::uint32_t mask, T value, unsigned lane_argument, int width,
                Place place) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  T result;
  shuffle(kind, mask, &value, &result, sizeof(T), lane_argument, width, place);
  return result;
}

}  // namespace tvllm::cuda::emulation

#define TVLLM_EMULATED_PLACE \
  ::tvllm::cuda::emulation::Place place = {__builtin_FILE(), __builtin_LINE()}

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): CUDA's own names

// --- barriers and fences
// ---------------------------------------------------------------------------

inline void __syncthreads(TVLLM_EMULATED_PLACE) {
  ::tvllm::cuda::emulation::block_barrier(::tvllm::cuda::emulation::BarrierKind::kPlain, 0, place);
}
inline int __syncthreads_count(int predicate, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::block_barrier(::tvllm::cuda::emulation::BarrierKind::kCount,
                                                 predicate, place);
}
inline int __syncthreads_and(int predicate, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::block_barrier(::tvllm::cuda::emulation::BarrierKind::kAnd,
                                                 predicate, place);
}
inline int __syncthreads_or(int predicate, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::block_barrier(::tvllm::cuda::emulation::BarrierKind::kOr,
                                                 predicate, place);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, TVLLM_EMULATED_PLACE) {
  ::tvllm::cuda::emulation::warp_barrier(mask, place);
}
inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {
  ::tvllm::cuda::emulation::yield_thread();
}

// --- warp operations
// -------------------------------------------------------------------------------

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::shuffle_value(::tvllm::cuda::emulation::ShuffleKind::kIdx, mask,
                                                 value, static_cast<unsigned>(lane), width, place);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                 TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::shuffle_value(::tvllm::cuda::emulation::ShuffleKind::kUp, mask,
                                                 value, delta, width, place);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                   TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::shuffle_value(::tvllm::cuda::emulation::ShuffleKind::kDown, mask,
                                                 value, delta, width, place);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize,
                  TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::shuffle_value(::tvllm::cuda::emulation::ShuffleKind::kXor, mask,
                                                 value, static_cast<unsigned>(lane_mask), width,
                                                 place);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::ballot(mask, predicate, place);
}
inline int __any_sync(unsigned mask, int predicate, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::ballot(mask, predicate, place) != 0;
}
inline int __all_sync(unsigned mask, int predicate, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::ballot(mask, !predicate, place) == 0;
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::reduce_unsigned(::tvllm::cuda::emulation::ReduceKind::kAdd, mask,
                                                   value, place);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::reduce_unsigned(::tvllm::cuda::emulation::ReduceKind::kMin, mask,
                                                   value, place);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value, TVLLM_EMULATED_PLACE) {
  return ::tvllm::cuda::emulation::reduce_unsigned(::tvllm::cuda::emulation::ReduceKind::kMax, mask,
                                                   value, place);
}

// --- atomics
// ---------------------------------------------------------------------------------------

#define TVLLM_EMULATED_ATOMIC(name, kind)                                                        \
  template <typename T>                                                                          \
  T name(T* address, std::type_identity_t<T> operand) {                                          \
    return ::tvllm::cuda::emulation::atomic(::tvllm::cuda::emulation::AtomicKind::kind, address, \
                                            operand);                                            \
  }
TVLLM_EMULATED_ATOMIC(atomicAdd, kAdd)
TVLLM_EMULATED_ATOMIC(atomicMin, kMin)
TVLLM_EMULATED_ATOMIC(atomicMax, kMax)
TVLLM_EMULATED_ATOMIC(atomicAnd, kAnd)
TVLLM_EMULATED_ATOMIC(atomicOr, kOr)
TVLLM_EMULATED_ATOMIC(atomicXor, kXor)
TVLLM_EMULATED_ATOMIC(atomicExch, kExchange)
#undef TVLLM_EMULATED_ATOMIC

template <typename T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  return ::tvllm::cuda::emulation::compare_and_swap(address, expected, desired);
}
#undef TVLLM_EMULATED_PLACE

// --- bits and arithmetic
// ---------------------------------------------------------------------------

inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline int __float_as_int(float value) {
  return std::bit_cast<int>(value);
}
inline float __int_as_float(int bits) {
  return std::bit_cast<float>(bits);
}
inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
inline int __clz(int bits) {
  return std::countl_zero(static_cast<unsigned>(bits));
}
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1;
}
inline float rsqrtf(float value) {
  return 1.0f / std::sqrt(value);
}
inline float __expf(float value) {
  return std::exp(value);
}
inline float __logf(float value) {
  return std::log(value);
}
inline float __fdividef(float numerator, float denominator) {
  return numerator / denominator;
}
// Sum of four products of signed bytes, added to `sum`.
inline int __dp4a(int a, int b, int sum) {
  for (int shift = 0; shift < 32; shift += 8) {
    sum += static_cast<std::int8_t>(a >> shift) * static_cast<std::int8_t>(b >> shift);
  }
  return sum;
}
template <typename T>
T __ldg(const T* address) {
  return *address;
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
