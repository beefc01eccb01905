// SPDX-License-Identifier: Apache-2.0
// Mutex, lock and condition variable that clang's thread-safety analysis understands
// (preset 'clang', -Wthread-safety). The annotations are empty under g++, which does not know them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/check.h"

#ifdef __clang__
#define TVLLM_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define TVLLM_THREAD_ANNOTATION(x)
#endif

#define TVLLM_CAPABILITY(x) TVLLM_THREAD_ANNOTATION(capability(x))
#define TVLLM_SCOPED_CAPABILITY TVLLM_THREAD_ANNOTATION(scoped_lockable)
#define TVLLM_GUARDED_BY(x) TVLLM_THREAD_ANNOTATION(guarded_by(x))
#define TVLLM_REQUIRES(...) TVLLM_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define TVLLM_ACQUIRE(...) TVLLM_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define TVLLM_RELEASE(...) TVLLM_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define TVLLM_EXCLUDES(...) TVLLM_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define TVLLM_NO_THREAD_SAFETY_ANALYSIS TVLLM_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace tvllm {

class TVLLM_CAPABILITY("mutex") Mutex {
 public:
  void lock() TVLLM_ACQUIRE() { mutex_.lock(); }
  void unlock() TVLLM_RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class TVLLM_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TVLLM_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() TVLLM_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;  // outlives the lock: both stand in one scope
};

// Waits are written as loops over the condition, which the analysis can follow:
//   while (!ready_) ready_cv_.wait(mutex_);
class CondVar {
 public:
  void wait(Mutex& mutex) TVLLM_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }

  // False when `deadline` passed first.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline)
      TVLLM_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = cv_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }

  void notify_one() { cv_.notify_one(); }
  void notify_all() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

// For classes that belong to one thread: bound on first use, then every call is DCHECKed.
class ThreadChecker {
 public:
  void check() {
    if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
    TVLLM_DCHECK(owner_ == std::this_thread::get_id(), "called on a thread that does not own it");
  }
  // The next check binds anew: for handing an object to its thread after construction.
  void detach() { owner_ = std::thread::id(); }

 private:
  std::thread::id owner_;
};

}  // namespace tvllm
