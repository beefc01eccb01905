// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace tvllm {

// Threads for data-parallel regions of microseconds: the forward pass runs hundreds of them a step.
//
//   pool.run([&](int worker_idx) { ... });   // every worker once, the caller is worker 0
//
// Owned by the backend; run() is called by one thread at a time (the engine thread). Workers spin
// for a short while after a region, since the next one usually follows at once, then sleep on a
// futex, so that an idle engine costs nothing. A region allocates nothing and locks nothing.
//
// Invariants: (1) run() returns only when every worker has left `body`; (2) a region starts only
// after the last one ended, so what one writes the next may read without further order.
class ThreadPool {
 public:
  // `num_threads` counts the caller: a pool of 1 starts no thread. REQUIRES: num_threads >= 1
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // Calls body(worker_idx) for worker_idx in 0 .. num_threads() - 1, body(0) on the calling thread.
  // `body` must not throw and must not call run().
  template <typename Body>
  void run(Body&& body) {
    static_assert(std::is_invocable_v<Body&, int>);
    run_region(
        [](void* context, int worker_idx) {
          (*static_cast<std::remove_reference_t<Body>*>(context))(worker_idx);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

  // Calls body(begin, end) over contiguous pieces of [0, count), one piece a worker, boundaries at
  // multiples of `grain`.
  template <typename Body>
  void parallel_for(std::size_t count, std::size_t grain, Body&& body) {
    const std::size_t num_grains = (count + grain - 1) / grain;
    const auto share = [&](int worker_idx) {
      const std::size_t n = static_cast<std::size_t>(num_threads_);
      const std::size_t w = static_cast<std::size_t>(worker_idx);
      const std::size_t begin = num_grains * w / n * grain;
      const std::size_t end = num_grains * (w + 1) / n * grain;
      if (begin < count && begin < end) body(begin, end < count ? end : count);
    };
    if (num_threads_ == 1 || num_grains <= 1) {
      if (count > 0) body(std::size_t{0}, count);
      return;
    }
    run(share);
  }

 private:
  using RegionFn = void (*)(void* context, int worker_idx);
  struct Shared;

  void run_region(RegionFn fn, void* context);
  void worker_loop(int worker_idx);

  const int num_threads_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::jthread> threads_;
};

// The least of physical cores, affinity mask and cgroup CPU quota, at least 1: the default of
// `--threads`.
int default_num_threads();

// Logical CPUs of the machine: the most that `--threads` accepts.
int num_machine_cpus();

}  // namespace tvllm
