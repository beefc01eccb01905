// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_allocator.h"

#include <cstdlib>
#include <new>

namespace {

enum class Mode { kOff, kFailOnce, kFailAlways };

Mode mode = Mode::kOff;
long num_left = 0;  // that succeed before the one that fails
bool has_failed = false;

bool must_fail() {
  if (mode == Mode::kOff || num_left-- > 0) return false;
  has_failed = true;
  num_left = 0;
  if (mode == Mode::kFailOnce) mode = Mode::kOff;
  return true;
}

}  // namespace

namespace tvllm::testing {

void fail_allocation_after(long count, bool later_fail) {
  num_left = count;
  has_failed = false;
  mode = later_fail ? Mode::kFailAlways : Mode::kFailOnce;
}

bool stop_failing_allocations() {
  mode = Mode::kOff;
  return has_failed;
}

}  // namespace tvllm::testing

void* operator new(std::size_t num_bytes) {
  void* memory = must_fail() ? nullptr : std::malloc(num_bytes == 0 ? 1 : num_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
