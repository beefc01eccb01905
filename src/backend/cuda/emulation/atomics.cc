// SPDX-License-Identifier: Apache-2.0
// Atomics of kernels. Blocks run on several threads, so they are atomic here too.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/emulation/access.h"
#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/current.h"
#include "backend/cuda/emulation/intrinsics.h"
#include "backend/cuda/emulation/sanitizer.h"

namespace tvllm::cuda::emulation {
namespace {

template <typename T>
T combine(AtomicKind kind, T old, T operand) {
  switch (kind) {
    case AtomicKind::kAdd:
      if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;  // wraps, as on the device
        return static_cast<T>(static_cast<U>(old) + static_cast<U>(operand));
      } else {
        return old + operand;
      }
    case AtomicKind::kMin:
      return std::min(old, operand);
    case AtomicKind::kMax:
      return std::max(old, operand);
    case AtomicKind::kExchange:
      return operand;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (kind == AtomicKind::kAnd) return old & operand;
    if (kind == AtomicKind::kOr) return old | operand;
    if (kind == AtomicKind::kXor) return old ^ operand;
  }
  fault("this atomic operation does not exist for floating-point numbers");
}

// As bits, since the compiler has no atomics of floating-point numbers. Not for the address
// sanitizer: it holds device memory for poisoned.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <typename T>
TVLLM_NO_SANITIZE bool exchange_if_equal(T* address, T& expected, T desired) {
  auto* const bits = reinterpret_cast<BitsOf<T>*>(address);
  auto expected_bits = std::bit_cast<BitsOf<T>>(expected);
  const bool done =
      __atomic_compare_exchange_n(bits, &expected_bits, std::bit_cast<BitsOf<T>>(desired), false,
                                  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  expected = std::bit_cast<T>(expected_bits);
  return done;
}

template <typename T>
TVLLM_NO_SANITIZE T load(T* address) {
  return std::bit_cast<T>(__atomic_load_n(reinterpret_cast<BitsOf<T>*>(address), __ATOMIC_SEQ_CST));
}

template <typename T>
T change(AtomicKind kind, T* address, T operand) {
  const InEmulation guard("an atomic");
  check_aligned_access(address, sizeof(T), AccessKind::kAtomic);
  T old = load(address);
  while (!exchange_if_equal(address, old, combine(kind, old, operand))) {
  }
  return old;
}

template <typename T>
T swap(T* address, T expected, T desired) {
  const InEmulation guard("atomicCAS");
  check_aligned_access(address, sizeof(T), AccessKind::kAtomic);
  // A loop around a failed exchange waits for another thread.
  if (!exchange_if_equal(address, expected, desired)) t_current.runner->yield();
  return expected;
}

}  // namespace

int atomic(AtomicKind kind, int* address, int operand) {
  return change(kind, address, operand);
}
unsigned atomic(AtomicKind kind, unsigned* address, unsigned operand) {
  return change(kind, address, operand);
}
unsigned long long atomic(AtomicKind kind, unsigned long long* address,
                          unsigned long long operand) {
  return change(kind, address, operand);
}
float atomic(AtomicKind kind, float* address, float operand) {
  return change(kind, address, operand);
}
double atomic(AtomicKind kind, double* address, double operand) {
  return change(kind, address, operand);
}
int compare_and_swap(int* address, int expected, int desired) {
  return swap(address, expected, desired);
}
unsigned compare_and_swap(unsigned* address, unsigned expected, unsigned desired) {
  return swap(address, expected, desired);
}
unsigned long long compare_and_swap(unsigned long long* address, unsigned long long expected,
                                    unsigned long long desired) {
  return swap(address, expected, desired);
}

}  // namespace tvllm::cuda::emulation
