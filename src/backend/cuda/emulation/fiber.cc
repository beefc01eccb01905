// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/fiber.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>

#include "backend/cuda/emulation/sanitizer.h"
#include "base/check.h"

namespace tvllm::cuda::emulation {

namespace context = boost::context::detail;

struct Fiber::Start {
  [[noreturn]] static void run(context::transfer_t from) {
    auto* const fiber = static_cast<Fiber*>(from.data);
    finish_switch(nullptr, &fiber->caller_bottom_, &fiber->caller_bytes_);
    fiber->caller_context_ = from.fctx;
    fiber->entry_(fiber->argument_);
    fiber->leave();
  }
};

Fiber::Fiber() {
  void* begin = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TVLLM_CHECK(begin != MAP_FAILED, "emulated device: no memory for a stack");
  mprotect(begin, kGuardBytes, PROT_NONE);
  stack_ = static_cast<std::byte*>(begin) + kGuardBytes;
}

Fiber::~Fiber() {
  unpoison(stack_, kStackBytes);
  munmap(stack_ - kGuardBytes, kGuardBytes + kStackBytes);
}

void Fiber::reset(Entry entry, void* argument) {
  // Frames that were dropped have left their red zones behind.
  unpoison(stack_, kStackBytes);
  fake_stack_ = nullptr;
  entry_ = entry;
  argument_ = argument;
  context_ = context::make_fcontext(stack_ + kStackBytes, kStackBytes, &Start::run);
}

void Fiber::resume() {
  void* fake_stack = nullptr;
  start_switch(&fake_stack, stack_, kStackBytes);
  const context::transfer_t back = context::jump_fcontext(context_, this);
  finish_switch(fake_stack, nullptr, nullptr);
  context_ = back.fctx;
}

void Fiber::suspend() {
  start_switch(&fake_stack_, caller_bottom_, caller_bytes_);
  const context::transfer_t from = context::jump_fcontext(caller_context_, nullptr);
  finish_switch(fake_stack_, &caller_bottom_, &caller_bytes_);
  caller_context_ = from.fctx;
}

void Fiber::leave() {
  start_switch(nullptr, caller_bottom_, caller_bytes_);
  context::jump_fcontext(caller_context_, nullptr);
  TVLLM_CHECK(false, "a fiber that was left for good was resumed");
  __builtin_unreachable();
}

}  // namespace tvllm::cuda::emulation
