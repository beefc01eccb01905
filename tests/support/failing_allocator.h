// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tvllm::testing {

// From now on `count` allocations succeed, the one after them throws std::bad_alloc, and those
// after that succeed again, or throw too if `later_fail`. For a binary that links
// failing_allocator.cc and runs on one thread.
void fail_allocation_after(long count, bool later_fail);

// Allocations succeed again. Returns whether one has failed.
bool stop_failing_allocations();

}  // namespace tvllm::testing
