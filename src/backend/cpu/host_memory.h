// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "backend/backend.h"

namespace tvllm::cpu {

// Zero-filled memory at a cache line of its own, freed with the object. Large ones are pages that
// become resident when they are first written, so a large cache costs only what is used of it.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  ~HostMemory();

  // Nothing when the system has no such memory.
  static std::optional<HostMemory> allocate(std::size_t size_bytes);

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

class HostBuffer final : public backend::Buffer {
 public:
  explicit HostBuffer(HostMemory memory, std::size_t size_bytes)
      : memory_(std::move(memory)), size_bytes_(size_bytes) {}

  void* data() override { return memory_.data(); }
  std::size_t size_bytes() const override { return size_bytes_; }
  const float* floats() const { return reinterpret_cast<const float*>(memory_.data()); }

 private:
  HostMemory memory_;
  std::size_t size_bytes_;
};

// Memory for the length of one operation, equal slices for the workers. It only grows: a step
// allocates nothing once the largest batch was seen. Engine thread; workers use their slices.
class Scratch {
 public:
  // Makes room for `num_slices` slices of `slice_bytes`; what was there is lost.
  void reserve(int num_slices, std::size_t slice_bytes);
  // At a cache line of its own.
  std::byte* slice(int idx) const {
    return memory_.data() + static_cast<std::size_t>(idx) * slice_stride_;
  }

 private:
  HostMemory memory_;
  std::size_t slice_stride_ = 0;
};

}  // namespace tvllm::cpu
