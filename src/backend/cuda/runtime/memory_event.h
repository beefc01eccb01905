// SPDX-License-Identifier: Apache-2.0
// What happens to a device's memory, told to whoever watches: the trace, a test.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tvllm::cuda {

enum class MemoryEventKind : std::uint8_t {
  kAllocateDevice,
  kFreeDevice,
  kAllocatePinned,
  kFreePinned,
  kCopyToDevice,
  kCopyToHost,
  kCopyOnDevice,
  kFill,
};

struct MemoryEvent {
  MemoryEventKind kind = MemoryEventKind::kAllocateDevice;
  const void* memory = nullptr;  // the buffer; of a copy, where it goes
  std::size_t bytes = 0;
};

// Called by the thread that does it, after it was done or, for a copy, begun.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  virtual void on_memory_event(const MemoryEvent& event) noexcept = 0;
};

}  // namespace tvllm::cuda
