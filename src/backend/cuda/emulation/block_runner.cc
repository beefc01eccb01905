// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/block_runner.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "backend/cuda/emulation/arena.h"
#include "backend/cuda/emulation/current.h"
#include "backend/cuda/emulation/shared_memory.h"
#include "base/strings.h"

constinit thread_local uint3 threadIdx = {};
constinit thread_local uint3 blockIdx = {};
constinit thread_local dim3 blockDim = {};
constinit thread_local dim3 gridDim = {};

namespace tvllm::cuda::emulation {

constinit thread_local Current t_current = {};

namespace {

// Nobody's memory before the dynamic array and between arrays. The first array is aligned for the
// widest swizzle of sm_90, 1024 bytes.
constexpr std::size_t kFirstArrayAt = 1024;
constexpr std::size_t kGuardBytes = 64;
// The clock is read once in so many turns.
constexpr int kYieldsPerLook = 64;
constinit std::atomic<std::chrono::milliseconds> g_patience{std::chrono::seconds(10)};
constexpr std::uint32_t kAllLanes = 0xffffffffu;

std::string text_of(uint3 idx) {
  return str_cat("(", idx.x, ",", idx.y, ",", idx.z, ")");
}

std::string text_of(Place place) {
  const char* const slash = std::strrchr(place.file, '/');
  return str_cat(slash == nullptr ? place.file : slash + 1, ":", place.line);
}

bool is_same(Place a, Place b) {
  return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

const char* name_of(BarrierKind kind) {
  switch (kind) {
    case BarrierKind::kPlain:
      return "__syncthreads";
    case BarrierKind::kCount:
      return "__syncthreads_count";
    case BarrierKind::kAnd:
      return "__syncthreads_and";
    case BarrierKind::kOr:
      return "__syncthreads_or";
  }
  return "";
}

uint3 index_in(dim3 block, int thread_idx) {
  const auto linear = static_cast<unsigned>(thread_idx);
  return {linear % block.x, linear / block.x % block.y, linear / (block.x * block.y)};
}

}  // namespace

void fault(std::string sentence) {
  t_current.runner->fail(t_current.runner->thread_idx(), std::move(sentence));
}

void fault_of(int thread_idx, std::string sentence) {
  t_current.runner->fail(thread_idx, std::move(sentence));
}

void set_patience(std::chrono::milliseconds patience) {
  g_patience = patience;
}

BlockRunner::BlockRunner(int worker_idx) : worker_idx_(worker_idx), threads_(kMaxThreads) {}

std::optional<std::string> BlockRunner::run(const KernelCall& call, uint3 block_idx) {
  begin_block(call, block_idx);
  schedule();
  t_current = {};
  Arena::instance().set_states(Arena::instance().shared_range(worker_idx_), shared_used_,
                               ByteState::kNone);
  call_ = nullptr;
  if (fault_) {  // every fiber is somewhere in the kernel
    idle_fibers_.clear();
    for (const auto& fiber : fibers_) {
      fiber->reset(&fiber_main, this);
      idle_fibers_.push_back(fiber.get());
    }
  }
  return std::exchange(fault_, std::nullopt);
}

void BlockRunner::begin_block(const KernelCall& call, uint3 block_idx) {
  call_ = &call;
  block_idx_ = block_idx;
  num_threads_ = call.num_threads();
  num_started_ = num_exited_ = num_at_barrier_ = 0;
  runnable_.clear();
  for (int i = 0; i < num_threads_; ++i) {
    ThreadState& thread = threads_[static_cast<std::size_t>(i)];
    thread.idx = index_in(call.block, i);
    thread.fiber = nullptr;
    thread.has_exited = false;
    thread.waits = WaitKind::kNone;
    thread.pending.clear();
    thread.num_groups = 0;
  }
  for (int first = 0; first < num_threads_; first += kWarpSize) {
    Warp& warp = warp_of(first);
    const int num_lanes = std::min(kWarpSize, num_threads_ - first);
    warp.arrived = 0;
    warp.exited = num_lanes == kWarpSize ? 0 : kAllLanes << num_lanes;
    warp.exchange.first_thread_idx = first;
  }
  note_progress();
  t_current.runner = this;
  blockIdx = block_idx;
  blockDim = call.block;
  gridDim = call.grid;
  shared_log_.next_phase();
  begin_shared_arrays();
  shared_used_ = kFirstArrayAt;
  shared_bytes_ = 0;
  dynamic_shared_ = call.shared_bytes == 0 ? nullptr : place_shared(call.shared_bytes, 16);
}

void BlockRunner::schedule() {
  while (!fault_ && num_exited_ < num_threads_) {
    const bool has_unstarted = num_started_ < num_threads_;
    // While threads wait in loops, those that have not begun come first: they may be waited for.
    if (!runnable_.empty() && !(has_unstarted && num_yields_ > 0)) {
      const int next = runnable_.front();
      runnable_.pop_front();
      resume(next);
    } else if (has_unstarted) {
      const int next = num_started_++;
      threads_[static_cast<std::size_t>(next)].fiber = idle_fiber();
      resume(next);
    } else {
      fault_ = describe_deadlock();
    }
  }
}

Fiber* BlockRunner::idle_fiber() {
  if (idle_fibers_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>());
    fibers_.back()->reset(&fiber_main, this);
    return fibers_.back().get();
  }
  Fiber* const fiber = idle_fibers_.back();
  idle_fibers_.pop_back();
  return fiber;
}

void BlockRunner::resume(int thread_idx) {
  running_ = thread_idx;
  const ThreadState& thread = threads_[static_cast<std::size_t>(thread_idx)];
  threadIdx = thread.idx;
  t_current.stack_begin = thread.fiber->stack_begin();
  t_current.stack_end = thread.fiber->stack_end();
  thread.fiber->resume();
  t_current.checking = false;
}

void BlockRunner::fiber_main(void* runner) {
  static_cast<BlockRunner*>(runner)->run_threads_here();
}

// The life of a fiber: it runs threads one after another, while none is waiting to go on, and is
// idle in between.
void BlockRunner::run_threads_here() {
  for (;;) {
    Fiber* const fiber = thread().fiber;
    (*call_->body)();
    thread_exits();
    if (runnable_.empty() && num_started_ < num_threads_ && !fault_) {
      running_ = num_started_++;
      thread().fiber = fiber;
      threadIdx = thread().idx;
      continue;
    }
    idle_fibers_.push_back(fiber);
    fiber->suspend();
  }
}

void BlockRunner::thread_exits() {
  ThreadState& exiting = thread();
  exiting.has_exited = true;
  note_progress();
  ++num_exited_;
  Warp& warp = warp_of(running_);
  warp.exited |= 1u << lane();
  // Whoever waited for this one last may go on: barriers wait for threads that have not exited.
  if (num_at_barrier_ > 0 && num_at_barrier_ == num_threads_ - num_exited_) {
    complete_block_barrier();
  }
  for (int waiting = 0; waiting < kWarpSize; ++waiting) {
    if ((warp.arrived >> waiting & 1u) != 0) complete_warp(warp, waiting, -1);
  }
}

void BlockRunner::wait(WaitKind kind, const char* function, Place place) {
  ThreadState& waiting = thread();
  waiting.waits = kind;
  waiting.waits_in = function;
  waiting.waits_at = place;
  waiting.fiber->suspend();
}

void BlockRunner::wake(int thread_idx) {
  note_progress();
  threads_[static_cast<std::size_t>(thread_idx)].waits = WaitKind::kNone;
  runnable_.push_back(thread_idx);
}

void BlockRunner::yield() {
  if (num_yields_++ % kYieldsPerLook == 0) {
    const auto now = std::chrono::steady_clock::now();
    if (num_yields_ == 1) waiting_since_ = now;
    if (now - waiting_since_ > g_patience.load()) {
      fault("deadlock: waits in a loop, and no thread of the block makes progress");
    }
  }
  runnable_.push_back(running_);
  thread().fiber->suspend();
}

int BlockRunner::block_barrier(BarrierKind kind, int predicate, Place place) {
  if (num_at_barrier_ == 0) {
    barrier_kind_ = kind;
    barrier_place_ = place;
    barrier_first_ = running_;
    barrier_count_ = 0;
  } else if (kind != barrier_kind_ || !is_same(place, barrier_place_)) {
    std::string sentence = str_cat("divergent barrier: this thread is at ", name_of(kind), " (",
                                   text_of(place), ") while ", describe_wait(barrier_first_));
    fault(std::move(sentence));
  }
  ++num_at_barrier_;
  barrier_count_ += predicate != 0 ? 1 : 0;
  if (num_at_barrier_ == num_threads_ - num_exited_) {
    complete_block_barrier();
  } else {
    wait(WaitKind::kBlockBarrier, name_of(kind), place);
  }
  return barrier_result_;
}

// The next barrier cannot complete before every thread has read this one's result.
void BlockRunner::complete_block_barrier() {
  switch (barrier_kind_) {
    case BarrierKind::kPlain:
    case BarrierKind::kCount:
      barrier_result_ = barrier_count_;
      break;
    case BarrierKind::kAnd:
      barrier_result_ = barrier_count_ == num_at_barrier_;
      break;
    case BarrierKind::kOr:
      barrier_result_ = barrier_count_ > 0;
      break;
  }
  num_at_barrier_ = 0;
  shared_log_.next_phase();
  for (int i = 0; i < num_started_; ++i) {
    if (threads_[static_cast<std::size_t>(i)].waits == WaitKind::kBlockBarrier) wake(i);
  }
}

void BlockRunner::warp_operation(const WarpOperation& operation, std::uint32_t mask, const void* in,
                                 void* out, Place place) {
  Warp& warp = warp_of(running_);
  const std::uint32_t own = 1u << lane();
  std::string sentence;
  if ((mask & own) == 0) {
    sentence = str_cat(operation.name, " (", text_of(place), "): the calling lane ", lane(),
                       " is not in the mask");
  }
  for (int other = 0; other < kWarpSize && sentence.empty(); ++other) {
    const auto o = static_cast<std::size_t>(other);
    if ((warp.arrived >> other & 1u) == 0 || (warp.masks[o] & mask) == 0) continue;
    if (warp.masks[o] == mask && warp.operations[o] == &operation) continue;
    sentence = str_cat("divergent warp: this thread is at ", operation.name, " (", text_of(place),
                       ") while ", describe_wait(warp.exchange.first_thread_idx + other),
                       warp.operations[o] == &operation ? " with another mask" : "");
  }
  if (!sentence.empty()) fault(std::move(sentence));

  const auto l = static_cast<std::size_t>(lane());
  warp.arrived |= own;
  warp.operations[l] = &operation;
  warp.masks[l] = mask;
  warp.exchange.in[l] = in;
  warp.exchange.out[l] = out;
  if (!complete_warp(warp, lane(), running_)) wait(WaitKind::kWarp, operation.name, place);
}

// Completes what `lane` waits for if all have come. Wakes all but `running`.
bool BlockRunner::complete_warp(Warp& warp, int lane, int running) {
  const auto l = static_cast<std::size_t>(lane);
  const WarpOperation& operation = *warp.operations[l];
  const std::uint32_t lanes = warp.masks[l] & ~warp.exited;
  if ((lanes & ~warp.arrived) != 0) return false;
  if (operation.is_aligned && lanes != kAllLanes) {
    std::string sentence = str_cat(operation.name, " needs all 32 threads of the warp");
    fail(warp.exchange.first_thread_idx + lane, std::move(sentence));
  }
  warp.exchange.lanes = lanes;
  operation.complete(warp.exchange);
  warp.arrived &= ~lanes;
  if (operation.orders_memory) {
    shared_log_.next_warp_phase(warp.exchange.first_thread_idx / kWarpSize);
  }
  for (int other = 0; other < kWarpSize; ++other) {
    const int thread_idx = warp.exchange.first_thread_idx + other;
    if ((lanes >> other & 1u) != 0 && thread_idx != running) wake(thread_idx);
  }
  return true;
}

void BlockRunner::fail(int thread_idx, std::string sentence) {
  t_current.checking = false;
  fault_ = str_cat("block ", text_of(block_idx_), " thread ",
                   text_of(threads_[static_cast<std::size_t>(thread_idx)].idx), ": ", sentence);
  std::string().swap(sentence);  // nothing is destroyed when the fiber is left
  thread().fiber->leave();
}

std::string BlockRunner::name_of_thread(int thread_idx) const {
  return str_cat("thread ", text_of(threads_[static_cast<std::size_t>(thread_idx)].idx));
}

std::string BlockRunner::describe_wait(int thread_idx) const {
  const ThreadState& waiting = threads_[static_cast<std::size_t>(thread_idx)];
  return str_cat(name_of_thread(thread_idx), " waits in ", waiting.waits_in, " (",
                 text_of(waiting.waits_at), ")");
}

std::string BlockRunner::describe_deadlock() const {
  // One waiting thread of each kind of wait tells the story.
  std::string text;
  int first = -1;
  for (WaitKind kind : {WaitKind::kWarp, WaitKind::kBlockBarrier}) {
    for (int i = 0; i < num_threads_; ++i) {
      if (threads_[static_cast<std::size_t>(i)].waits != kind) continue;
      text += (text.empty() ? "" : ", ") + describe_wait(i);
      if (first < 0) first = i;
      break;
    }
  }
  return str_cat("block ", text_of(block_idx_), " thread ",
                 text_of(threads_[static_cast<std::size_t>(first)].idx),
                 ": deadlock: nobody can go on: ", text);
}

std::byte* BlockRunner::place_shared(std::size_t bytes, std::size_t alignment) {
  const std::size_t begin = (shared_used_ + alignment - 1) / alignment * alignment;
  shared_bytes_ += bytes;
  if (shared_bytes_ > kMaxSharedBytes || begin + bytes + kGuardBytes > kSharedRangeBytes) {
    std::string sentence = str_cat("needs ", shared_bytes_, " bytes of shared memory, at most ",
                                   kMaxSharedBytes, " are there");
    fault(std::move(sentence));
  }
  std::byte* const array = Arena::instance().shared_range(worker_idx_) + begin;
  Arena::instance().set_states(array, bytes, ByteState::kUninitialized);
  shared_used_ = begin + bytes + kGuardBytes;
  return array;
}

}  // namespace tvllm::cuda::emulation
