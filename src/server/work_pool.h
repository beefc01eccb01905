// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace tvllm::server {

// A few threads that parse, render and tokenize requests, so that neither the I/O thread nor the
// engine thread ever waits for a long prompt. Tasks start in order. Thread-safe. The queue is
// bounded by admission: a request has its place (admission.h) before it becomes a task.
class WorkPool {
 public:
  explicit WorkPool(int num_threads);
  // Finishes what has begun and drops what has not.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  void submit(std::function<void()> task) TVLLM_EXCLUDES(mutex_);

 private:
  void work() TVLLM_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar not_empty_;
  std::deque<std::function<void()>> tasks_ TVLLM_GUARDED_BY(mutex_);
  bool closed_ TVLLM_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace tvllm::server
