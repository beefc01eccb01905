// SPDX-License-Identifier: Apache-2.0
#include "server/work_pool.h"

#include <exception>
#include <utility>

#include "base/log.h"
#include "base/strings.h"

namespace tvllm::server {

WorkPool::WorkPool(int num_threads) {
  for (int i = 0; i < num_threads; ++i)
    threads_.emplace_back([this] { work(); });
}

WorkPool::~WorkPool() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    not_empty_.notify_all();
  }
  threads_.clear();
}

void WorkPool::submit(std::function<void()> task) {
  MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  not_empty_.notify_one();
}

void WorkPool::work() {
  while (true) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty() && !closed_)
        not_empty_.wait(mutex_);
      if (closed_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    try {
      task();
    } catch (const std::exception& e) {
      log_error(str_cat("server: a task failed: ", e.what()));
    }
  }
}

}  // namespace tvllm::server
