// SPDX-License-Identifier: Apache-2.0
// Checks of what kernels read and write. The compiler calls a hook before each load and store of a
// kernel (-fsanitize=kernel-address, cmake/Cuda.cmake), and the emulation's own functions call
// check_access() for what they touch in a kernel's name. A kernel may touch
//
//   its own stack, constants of the program, arrays of its block's shared memory, device buffers
//
// and nothing else. What it reads must have been written, and in shared memory the other accesses
// to the same bytes must be ordered by a barrier.
#pragma once

#include <cstddef>

namespace tvllm::cuda::emulation {

enum class AccessKind { kRead, kWrite, kAtomic };

// Of the running thread. Returns if the access is right, else ends the launch. A write makes the
// bytes initialized.
void check_access(const void* address, std::size_t bytes, AccessKind kind);

// The same, and the address must be a multiple of `bytes`, as for every access of a GPU.
void check_aligned_access(const void* address, std::size_t bytes, AccessKind kind);

// Whether the address lies in shared memory of the block that runs.
bool is_shared(const void* address);

}  // namespace tvllm::cuda::emulation
