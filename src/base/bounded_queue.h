// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace tvllm {

// A first-in, first-out queue between threads that never holds more than `capacity` elements.
// Thread-safe. A full queue refuses; the caller says what that means (HTTP 429 for the inbox).
// After close() pushes are refused and readers drain what is left before pop says "closed".
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // False when full or closed; `value` is then left as it was.
  bool try_push(T&& value) TVLLM_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  // Nothing when empty (closed or not).
  std::optional<T> try_pop() TVLLM_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return take_front();
  }

  // Waits for an element; nothing once the queue is closed and drained.
  std::optional<T> pop() TVLLM_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (items_.empty() && !closed_)
      not_empty_.wait(mutex_);
    return take_front();
  }

  void close() TVLLM_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    closed_ = true;
    not_empty_.notify_all();
  }

  std::size_t size() const TVLLM_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  std::optional<T> take_front() TVLLM_REQUIRES(mutex_) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    return value;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  CondVar not_empty_;
  std::deque<T> items_ TVLLM_GUARDED_BY(mutex_);
  bool closed_ TVLLM_GUARDED_BY(mutex_) = false;
};

}  // namespace tvllm
