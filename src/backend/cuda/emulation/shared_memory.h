// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tvllm::cuda::emulation {

// Which block runs on this thread of the operating system: arrays of another one are stale.
extern constinit thread_local std::uint64_t t_block_serial;
void begin_shared_arrays();

// Where a SharedArray's elements lie in the shared memory of the block that runs.
struct SharedSlot {
  std::uint64_t block_serial = 0;
  std::byte* begin = nullptr;
};
void bind_shared(SharedSlot* slot, std::size_t bytes, std::size_t alignment);
[[noreturn]] void shared_index_fault(long long index, std::size_t size);
std::byte* dynamic_shared_bytes();

// The emulated twin of SharedArray in backend/cuda/device.cuh. The object itself is a handle; the
// elements lie in the arena, where each access is checked.
template <typename T, int N>
class SharedArray {
 public:
  constexpr SharedArray() = default;
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  T& operator[](long long index) {
    if (index < 0 || index >= N) [[unlikely]]
      shared_index_fault(index, N);
    return data()[index];
  }
  T* data() {
    if (slot_.block_serial != t_block_serial) bind_shared(&slot_, sizeof(T) * N, 16);
    return reinterpret_cast<T*>(slot_.begin);
  }
  static constexpr int size() { return N; }

 private:
  SharedSlot slot_;
};

}  // namespace tvllm::cuda::emulation
