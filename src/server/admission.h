// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace tvllm::server {

// The one count of unfinished choices against what the server lets wait and run. Taken before any
// work is done for a request and given back when the engine has ended the sequence. Thread-safe.
class AdmissionGate {
 public:
  explicit AdmissionGate(std::int64_t capacity) : capacity_(capacity) {}

  std::int64_t capacity() const { return capacity_; }
  std::int64_t num_admitted() const { return count_.load(std::memory_order_relaxed); }

  // All or none.
  bool try_acquire(std::int64_t num_choices) {
    std::int64_t count = count_.load(std::memory_order_relaxed);
    do {
      if (num_choices > capacity_ - count) return false;
    } while (!count_.compare_exchange_weak(count, count + num_choices, std::memory_order_relaxed));
    return true;
  }

  void release(std::int64_t num_choices) {
    count_.fetch_sub(num_choices, std::memory_order_relaxed);
  }

 private:
  const std::int64_t capacity_;
  std::atomic<std::int64_t> count_{0};
};

}  // namespace tvllm::server
