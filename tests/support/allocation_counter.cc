// SPDX-License-Identifier: Apache-2.0
#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count{0};

[[maybe_unused]] void* counted_allocate(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

namespace tvllm::testing {
std::uint64_t num_allocations() {
  return count.load(std::memory_order_relaxed);
}
}  // namespace tvllm::testing

// clang's sanitizers bring their own operators and cannot be linked with others: there the count
// stays 0.
#if defined(__clang__)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TVLLM_OPERATORS_ARE_TAKEN
#endif
#endif

#ifndef TVLLM_OPERATORS_ARE_TAKEN
// The other forms of the standard library call these; a sanitizer's own forms do not, so the
// nothrow one, whose memory the plain delete below frees, is here too.
void* operator new(std::size_t size) {
  return counted_allocate(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (size / unit + 1) * unit);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* memory = ::operator new(size, alignment, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
