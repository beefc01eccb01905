// SPDX-License-Identifier: Apache-2.0
// The memory of the emulated device. One range of addresses is reserved for good; it holds what the
// blocks that run now share, and behind it device memory:
//
//   | shared, worker 0 | shared, worker 1 | ... | device memory: | guard | buffer | guard | ... |
//
// Each byte has a state in a second range of the same size, at a fixed distance, so that a kernel's
// access is checked by comparing a few bytes. Device memory stays poisoned for the address
// sanitizer: whatever it instruments is host code. Kernels are not instrumented by it
// (cmake/Cuda.cmake), and the emulation copies with copy_bytes().
//
// Thread-safe where it says so; kernels touch states of their own bytes only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.h"

namespace tvllm::cuda::emulation {

enum class ByteState : std::uint8_t {
  kNone = 0,           // nobody's: outside of every buffer, or freed
  kUninitialized = 1,  // allocated, never written
  kInitialized = 2,
  kPending = 3,  // cp.async is writing it
};

// Enough for every kernel: 227 KiB is the most that a block of sm_90 may have. The rest of the
// 256 KiB are the guards between arrays.
inline constexpr std::size_t kMaxSharedBytes = 227 * 1024;
inline constexpr std::size_t kSharedRangeBytes = 256 * 1024;
inline constexpr int kMaxWorkers = 256;
inline constexpr std::size_t kAllSharedBytes = kSharedRangeBytes * kMaxWorkers;
inline constexpr std::size_t kMaxDeviceBytes = std::size_t{16} << 30;
inline constexpr std::size_t kArenaBytes = kAllSharedBytes + kMaxDeviceBytes;

// A buffer that lives.
struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

class Arena {
 public:
  static constexpr std::size_t kAlignment = 256;  // that of cudaMalloc
  static constexpr std::size_t kDefaultLimit = std::size_t{4} << 30;

  // One a process, as there is one device. Never destroyed: buffers may outlive static objects.
  static Arena& instance();

  // Null if the limit does not allow it. Thread-safe. REQUIRES: bytes >= 1
  std::byte* allocate(std::size_t bytes);
  // False if no buffer begins there. Thread-safe.
  bool free(const void* begin);
  // The buffer that `address` lies in, or the nearest one before it. Thread-safe.
  std::optional<Allocation> allocation_before(const void* address);

  // How much memory the device seems to have. REQUIRES: at most kMaxDeviceBytes
  void set_limit(std::size_t bytes);
  std::size_t limit();
  std::size_t used_bytes();

  // Whether all of [begin, begin + bytes) lies in one buffer. Thread-safe.
  bool holds(const void* begin, std::size_t bytes);
  // Whether the address lies in the reserved range at all.
  bool contains(const void* address) const { return offset_of(address) < kArenaBytes; }
  std::size_t offset_of(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - begin_;
  }
  std::byte* at(std::size_t offset) const {
    return reinterpret_cast<std::byte*>(begin_ + offset);  // NOLINT(performance-no-int-to-ptr)
  }
  std::uint8_t* state_at(std::size_t offset) const { return states_ + offset; }
  void set_states(const void* begin, std::size_t bytes, ByteState state);

  // What a worker's blocks share.
  std::byte* shared_range(int worker_idx) const {
    return at(static_cast<std::size_t>(worker_idx) * kSharedRangeBytes);
  }

 private:
  Arena();

  std::uintptr_t begin_ = 0;
  std::uint8_t* states_ = nullptr;
  Mutex mutex_;
  std::map<std::uintptr_t, std::size_t> allocations_ TVLLM_GUARDED_BY(mutex_);  // begin -> bytes
  // Freed addresses come back only after a whole round: an old pointer finds nobody's memory.
  std::size_t cursor_ TVLLM_GUARDED_BY(mutex_) = kAllSharedBytes;
  std::size_t limit_ TVLLM_GUARDED_BY(mutex_) = kDefaultLimit;
  std::size_t used_bytes_ TVLLM_GUARDED_BY(mutex_) = 0;
};

// memcpy and memset that no sanitizer looks at: for memory that is poisoned for everybody else.
void copy_bytes(void* to, const void* from, std::size_t bytes);
void fill_bytes(void* to, std::uint8_t value, std::size_t bytes);

}  // namespace tvllm::cuda::emulation
