// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/shared_memory.h"

#include <atomic>

#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/current.h"
#include "base/strings.h"

namespace tvllm::cuda::emulation {
namespace {

constinit std::atomic<std::uint64_t> g_num_blocks = 0;

}  // namespace

constinit thread_local std::uint64_t t_block_serial = 0;

void begin_shared_arrays() {
  t_block_serial = g_num_blocks.fetch_add(1, std::memory_order_relaxed) + 1;
}

void bind_shared(SharedSlot* slot, std::size_t bytes, std::size_t alignment) {
  const InEmulation guard("SharedArray");
  slot->begin = t_current.runner->place_shared(bytes, alignment);
  slot->block_serial = t_block_serial;
}

void shared_index_fault(long long index, std::size_t size) {
  const InEmulation guard("SharedArray");
  std::string sentence = str_cat("index ", static_cast<std::int64_t>(index),
                                 " into a shared array of ", size, " elements");
  fault(std::move(sentence));
}

std::byte* dynamic_shared_bytes() {
  const InEmulation guard("dynamic_shared");
  std::byte* const begin = t_current.runner->dynamic_shared();
  if (begin == nullptr) fault("asks for dynamic shared memory, and the launch gave none");
  return begin;
}

}  // namespace tvllm::cuda::emulation
