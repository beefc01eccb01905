// SPDX-License-Identifier: Apache-2.0
// Memory of the device, pinned memory of the host, and copies between them.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "backend/cuda/runtime/device.h"
#include "backend/cuda/runtime/stream.h"
#include "base/check.h"
#include "base/strings.h"

namespace tvllm::cuda {

// `size` elements of device memory, not initialized. Move-only, thread-compatible; the host must
// not dereference data(). An empty buffer has no memory.
template <typename T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceBuffer() = default;
  static Result<DeviceBuffer> allocate(Device& device, std::size_t size) {
    if (size == 0) return DeviceBuffer();
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) {
      return make_error(ErrorCode::kResourceExhausted,
                        str_cat("cuda: ", size, " elements are more than an address can name"));
    }
    TVLLM_TRY(void* memory, device_api::allocate_device(size * sizeof(T)));
    device.report(MemoryEventKind::kAllocateDevice, memory, size * sizeof(T));
    return DeviceBuffer(device, static_cast<T*>(memory), size);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ == nullptr) return;
    (void)device_api::free_device(data_);
    device_->report(MemoryEventKind::kFreeDevice, data_, bytes());
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

  // The copies are over when the stream says so; until then `host` stays as it is. Only pinned host
  // memory is copied beside other work. REQUIRES: offset + host.size() <= size()
  Status copy_from_host(std::span<const T> host, const Stream& stream, std::size_t offset = 0) {
    return copy(data_ + offset, host.data(), host.size(), offset, MemoryEventKind::kCopyToDevice,
                device_api::CopyKind::kToDevice, stream);
  }
  Status copy_to_host(std::span<T> host, const Stream& stream, std::size_t offset = 0) const {
    return copy(host.data(), data_ + offset, host.size(), offset, MemoryEventKind::kCopyToHost,
                device_api::CopyKind::kToHost, stream);
  }
  // REQUIRES: other.size() <= size()
  Status copy_from(const DeviceBuffer& other, const Stream& stream) {
    return copy(data_, other.data_, other.size_, 0, MemoryEventKind::kCopyOnDevice,
                device_api::CopyKind::kOnDevice, stream);
  }
  // Every byte of the buffer.
  Status fill(std::uint8_t byte, const Stream& stream) {
    if (size_ == 0) return {};
    TVLLM_RETURN_IF_ERROR(device_api::fill(data_, byte, bytes(), stream.handle()));
    device_->report(MemoryEventKind::kFill, data_, bytes());
    return {};
  }

 private:
  DeviceBuffer(Device& device, T* data, std::size_t size)
      : device_(&device), data_(data), size_(size) {}

  void swap(DeviceBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  Status copy(T* to, const T* from, std::size_t count, std::size_t offset, MemoryEventKind event,
              device_api::CopyKind kind, const Stream& stream) const {
    TVLLM_CHECK(offset <= size_ && count <= size_ - offset, "copy of ", count, " elements at ",
                offset, " in a buffer of ", size_);
    if (count == 0) return {};
    TVLLM_RETURN_IF_ERROR(device_api::copy(to, from, count * sizeof(T), kind, stream.handle()));
    device_->report(event, to, count * sizeof(T));
    return {};
  }

  Device* device_ = nullptr;  // outlives the buffer
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Host memory that the device reaches by itself, so that copies run beside other work. Move-only,
// thread-compatible.
template <typename T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PinnedBuffer() = default;
  static Result<PinnedBuffer> allocate(Device& device, std::size_t size) {
    if (size == 0) return PinnedBuffer();
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) {
      return make_error(ErrorCode::kResourceExhausted,
                        str_cat("cuda: ", size, " elements are more than an address can name"));
    }
    TVLLM_TRY(void* memory, device_api::allocate_pinned(size * sizeof(T)));
    device.report(MemoryEventKind::kAllocatePinned, memory, size * sizeof(T));
    return PinnedBuffer(device, static_cast<T*>(memory), size);
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    PinnedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~PinnedBuffer() {
    if (span_.empty()) return;
    (void)device_api::free_pinned(span_.data());
    device_->report(MemoryEventKind::kFreePinned, span_.data(), span_.size_bytes());
  }

  std::span<T> span() { return span_; }
  std::span<const T> span() const { return span_; }

 private:
  PinnedBuffer(Device& device, T* data, std::size_t size) : device_(&device), span_(data, size) {}
  void swap(PinnedBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(span_, other.span_);
  }

  Device* device_ = nullptr;  // outlives the buffer
  std::span<T> span_;
};

}  // namespace tvllm::cuda
