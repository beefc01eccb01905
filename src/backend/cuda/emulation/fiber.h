// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tvllm::cuda::emulation {

// A stack of its own, on which the threads of a block run one after another or in turn
// (Boost.Context). A guard page below it turns an overflow into a fault of the process.
//
// A fiber stays on one thread of the operating system while it has something to do. Whoever resumes
// it is suspended until it suspends or is left for good.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() begins `entry`, which must not return. What was suspended before is dropped
  // without running destructors.
  void reset(Entry entry, void* argument);
  void resume();

  // On the fiber: back to whoever resumed it.
  void suspend();
  // The same for good: only reset() makes the fiber usable again.
  [[noreturn]] void leave();

  std::uintptr_t stack_begin() const { return reinterpret_cast<std::uintptr_t>(stack_); }
  std::uintptr_t stack_end() const { return stack_begin() + kStackBytes; }

 private:
  // A kernel's frames are a few hundred bytes, its local arrays a few thousand; pages that are
  // never touched cost nothing.
  static constexpr std::size_t kStackBytes = 128 * 1024;
  static constexpr std::size_t kGuardBytes = 4096;

  struct Start;

  std::byte* stack_ = nullptr;
  void* context_ = nullptr;         // where the fiber goes on
  void* caller_context_ = nullptr;  // where whoever resumed it goes on
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  // For the address sanitizer.
  void* fake_stack_ = nullptr;
  const void* caller_bottom_ = nullptr;
  std::size_t caller_bytes_ = 0;
};

}  // namespace tvllm::cuda::emulation
