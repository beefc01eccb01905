// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/emulation/builtins.h"
#include "backend/cuda/emulation/fiber.h"
#include "backend/cuda/emulation/intrinsics.h"
#include "backend/cuda/emulation/shared_log.h"

namespace tvllm::cuda::emulation {

inline constexpr int kWarpSize = 32;
inline constexpr int kMaxThreads = 1024;

// One launch, as a worker sees it.
struct KernelCall {
  const char* name = nullptr;
  dim3 grid = {1, 1, 1};
  dim3 block = {1, 1, 1};
  std::size_t shared_bytes = 0;
  const std::function<void()>* body = nullptr;  // one thread's run of the kernel

  int num_threads() const { return static_cast<int>(block.x * block.y * block.z); }
};

struct PendingCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  int num_bytes = 0;
  int num_from_bytes = 0;  // the rest is zero
  int group = 0;
};

enum class WaitKind : std::uint8_t { kNone, kBlockBarrier, kWarp };

// What a thread of the running block is doing.
struct ThreadState {
  uint3 idx = {};
  Fiber* fiber = nullptr;
  bool has_exited = false;
  WaitKind waits = WaitKind::kNone;
  const char* waits_in = "";  // the function
  Place waits_at = {};
  // cp.async: copies that have begun, in order, and the groups they belong to.
  std::vector<PendingCopy> pending;
  int num_groups = 0;
};

// All that the lanes of a warp have brought to an operation of the warp.
struct WarpExchange {
  std::uint32_t lanes = 0;  // those that take part: in the mask, and not exited
  std::array<const void*, kWarpSize> in = {};
  std::array<void*, kWarpSize> out = {};
  int first_thread_idx = 0;  // of lane 0

  template <typename T>
  const T& in_of(int lane) const {
    return *static_cast<const T*>(in[static_cast<std::size_t>(lane)]);
  }
  template <typename T>
  T& out_of(int lane) const {
    return *static_cast<T*>(out[static_cast<std::size_t>(lane)]);
  }
  bool takes_part(int lane) const { return (lanes >> lane & 1u) != 0; }
};

struct WarpOperation {
  const char* name = "";
  void (*complete)(const WarpExchange& exchange) = nullptr;  // by whoever comes last
  bool is_aligned = false;  // all 32 lanes must exist, live and come
  bool orders_memory = false;
};

// How long the threads of a block may wait for each other in loops: 10 s until this is called.
void set_patience(std::chrono::milliseconds patience);

// Runs one block at a time: its threads take turns on fibers of one thread of the operating system,
// each until it must wait for others. One a worker; worker thread only.
//
// Invariants: (1) a thread waits for one thing; (2) whoever completes a barrier or an operation of
// a warp makes all that wait for it runnable; (3) if nobody is runnable and not all have exited,
// the block is deadlocked.
class BlockRunner {
 public:
  explicit BlockRunner(int worker_idx);

  // Null if all went well, else the fault: "block (..) thread (..): ...".
  std::optional<std::string> run(const KernelCall& call, uint3 block_idx);

  // --- for the functions that kernels call, on a fiber ---
  int thread_idx() const { return running_; }
  int lane() const { return running_ % kWarpSize; }
  std::string name_of_thread(int thread_idx) const;  // "thread (1,0,0)"
  ThreadState& thread() { return threads_[static_cast<std::size_t>(running_)]; }
  const KernelCall& call() const { return *call_; }
  int worker_idx() const { return worker_idx_; }
  SharedLog& shared_log() { return shared_log_; }

  int block_barrier(BarrierKind kind, int predicate, Place place);
  // Returns when all of `mask` have come; `out` is what complete() wrote for this lane.
  void warp_operation(const WarpOperation& operation, std::uint32_t mask, const void* in, void* out,
                      Place place);
  // Lets the other threads run: from inside of a loop that waits for one of them. Fails when nobody
  // has made progress for a while.
  void yield();
  void note_progress() { num_yields_ = 0; }
  [[noreturn]] void fail(int thread_idx, std::string sentence);

  // Room in the block's shared memory; dynamic_shared() has been placed at the start of the block.
  std::byte* place_shared(std::size_t bytes, std::size_t alignment);
  std::byte* dynamic_shared() const { return dynamic_shared_; }

 private:
  struct Warp {
    std::uint32_t arrived = 0;  // lanes that wait in warp_operation
    std::uint32_t exited = 0;   // or never existed
    std::array<const WarpOperation*, kWarpSize> operations = {};
    std::array<std::uint32_t, kWarpSize> masks = {};
    WarpExchange exchange = {};
  };

  static void fiber_main(void* runner);
  void begin_block(const KernelCall& call, uint3 block_idx);
  void schedule();
  void resume(int thread_idx);
  void run_threads_here();
  void thread_exits();
  void wait(WaitKind kind, const char* function, Place place);
  void wake(int thread_idx);
  void complete_block_barrier();
  bool complete_warp(Warp& warp, int lane, int running);
  Warp& warp_of(int thread_idx) { return warps_[static_cast<std::size_t>(thread_idx / kWarpSize)]; }
  std::string describe_deadlock() const;
  std::string describe_wait(int thread_idx) const;
  Fiber* idle_fiber();

  const int worker_idx_;
  const KernelCall* call_ = nullptr;
  uint3 block_idx_ = {};
  int num_threads_ = 0;
  int num_started_ = 0;
  int num_exited_ = 0;
  int running_ = 0;
  // Since a thread was woken or has exited.
  int num_yields_ = 0;
  std::chrono::steady_clock::time_point waiting_since_ = {};
  std::vector<ThreadState> threads_;
  std::array<Warp, kMaxThreads / kWarpSize> warps_;
  std::deque<int> runnable_;

  // The barrier of the block: how many wait, what they said, what comes out.
  int num_at_barrier_ = 0;
  BarrierKind barrier_kind_ = BarrierKind::kPlain;
  Place barrier_place_ = {};
  int barrier_first_ = 0;
  int barrier_count_ = 0;
  int barrier_result_ = 0;

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_fibers_;  // suspended in run_threads_here(), or fresh

  std::byte* dynamic_shared_ = nullptr;
  std::size_t shared_used_ = 0;   // of the worker's range, guards included
  std::size_t shared_bytes_ = 0;  // without guards: what the device would need
  SharedLog shared_log_;
  std::optional<std::string> fault_;
};

}  // namespace tvllm::cuda::emulation
