// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "backend/cuda/runtime/device_api.h"
#include "backend/cuda/runtime/memory_event.h"

namespace tvllm::cuda {

// A GPU, or the emulated one. Outlives the buffers, streams, events and graphs that are made of it.
// Thread-safe, but CUDA keeps the device by thread: a thread that did not open it calls
// select() first.
class Device {
 public:
  // Also selects it for the calling thread.
  static Result<std::unique_ptr<Device>> open(int ordinal = 0);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const device_api::Properties& properties() const { return properties_; }
  Status select() const { return device_api::select_device(ordinal_); }
  Result<device_api::MemoryInfo> memory_info() const { return device_api::memory_info(); }

  // Null: nobody watches. The observer outlives the device or is replaced before it ends.
  void set_memory_observer(MemoryObserver* observer) { observer_ = observer; }
  void report(MemoryEventKind kind, const void* memory, std::size_t bytes) const noexcept {
    if (MemoryObserver* const observer = observer_) {
      observer->on_memory_event({.kind = kind, .memory = memory, .bytes = bytes});
    }
  }

 private:
  Device(int ordinal, device_api::Properties properties)
      : ordinal_(ordinal), properties_(std::move(properties)) {}

  const int ordinal_;
  const device_api::Properties properties_;
  std::atomic<MemoryObserver*> observer_ = nullptr;
};

}  // namespace tvllm::cuda
