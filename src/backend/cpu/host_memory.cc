// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/host_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace tvllm::cpu {

namespace {

// Below this memory comes from the heap, where the address sanitizer watches its ends.
constexpr std::size_t kLeastMappedBytes = std::size_t{1} << 20;

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector

std::byte* allocate_zeros(std::size_t size_bytes) {
  if (size_bytes < kLeastMappedBytes) {
    void* data = ::operator new(size_bytes, kAlignment, std::nothrow);
    if (data != nullptr) std::memset(data, 0, size_bytes);
    return static_cast<std::byte*>(data);
  }
  void* data =
      ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace

HostMemory::~HostMemory() {
  if (size_bytes_ < kLeastMappedBytes) {
    ::operator delete(data_, kAlignment);
  } else {
    ::munmap(data_, size_bytes_);
  }
}

std::optional<HostMemory> HostMemory::allocate(std::size_t size_bytes) {
  HostMemory memory;
  if (size_bytes == 0) return memory;
  memory.data_ = allocate_zeros(size_bytes);
  if (memory.data_ == nullptr) return std::nullopt;
  memory.size_bytes_ = size_bytes;
  return memory;
}

void Scratch::reserve(int num_slices, std::size_t slice_bytes) {
  constexpr std::size_t kLine = 64;
  slice_stride_ = (slice_bytes + kLine - 1) / kLine * kLine;
  const std::size_t needed = slice_stride_ * static_cast<std::size_t>(num_slices);
  if (needed <= memory_.size_bytes()) return;
  memory_ = HostMemory();  // first, so that old and new never stand side by side
  std::optional<HostMemory> grown = HostMemory::allocate(needed);
  if (!grown.has_value()) throw std::bad_alloc();
  memory_ = std::move(*grown);
}

}  // namespace tvllm::cpu
