// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "backend/cuda/emulation/access.h"
#include "backend/cuda/emulation/arena.h"
#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/current.h"
#include "backend/cuda/emulation/ptx_twins.h"
#include "base/strings.h"

namespace tvllm::cuda::emulation {
namespace {

// What this copy may overwrite at any time until it is waited for must be read by nobody.
void begin_copy(const PendingCopy& copy) {
  const auto bytes = static_cast<std::size_t>(copy.num_bytes);
  check_aligned_access(copy.to, bytes, AccessKind::kWrite);
  Arena::instance().set_states(copy.to, bytes, ByteState::kPending);
}

void end_copy(const PendingCopy& copy) {
  const auto bytes = static_cast<std::size_t>(copy.num_bytes);
  const auto from_bytes = static_cast<std::size_t>(copy.num_from_bytes);
  Arena::instance().set_states(copy.to, bytes, ByteState::kUninitialized);
  check_access(copy.to, bytes, AccessKind::kWrite);
  copy_bytes(copy.to, copy.from, from_bytes);
  fill_bytes(copy.to + from_bytes, 0, bytes - from_bytes);
}

}  // namespace

void cp_async(void* to_shared, const void* from_global, int num_bytes, int num_from_bytes) {
  const InEmulation guard("cp.async");
  std::string sentence;
  if (num_bytes != 4 && num_bytes != 8 && num_bytes != 16) {
    sentence = str_cat("cp.async copies 4, 8 or 16 bytes, not ", num_bytes);
  } else if (num_from_bytes < 0 || num_from_bytes > num_bytes) {
    sentence = str_cat("cp.async reads at most ", num_bytes, " bytes, not ", num_from_bytes);
  } else if (!is_shared(to_shared)) {
    sentence = "cp.async writes to shared memory, and its destination is none";
  } else if (reinterpret_cast<std::uintptr_t>(from_global) % static_cast<unsigned>(num_bytes) !=
             0) {
    sentence =
        str_cat("cp.async of ", num_bytes, " bytes from an address that is no multiple of it");
  }
  if (!sentence.empty()) fault(std::move(sentence));
  if (num_from_bytes > 0) {
    check_access(from_global, static_cast<std::size_t>(num_from_bytes), AccessKind::kRead);
  }
  ThreadState& thread = t_current.runner->thread();
  const PendingCopy copy = {.to = static_cast<std::byte*>(to_shared),
                            .from = static_cast<const std::byte*>(from_global),
                            .num_bytes = num_bytes,
                            .num_from_bytes = num_from_bytes,
                            .group = thread.num_groups};
  begin_copy(copy);
  thread.pending.push_back(copy);
}

void cp_async_commit() {
  const InEmulation guard("cp.async.commit_group");
  ++t_current.runner->thread().num_groups;
}

void cp_async_wait(int num_groups) {
  const InEmulation guard("cp.async.wait_group");
  ThreadState& thread = t_current.runner->thread();
  std::size_t num_done = 0;
  for (const PendingCopy& copy : thread.pending) {
    if (copy.group >= thread.num_groups - num_groups) break;
    end_copy(copy);
    ++num_done;
  }
  thread.pending.erase(thread.pending.begin(),
                       thread.pending.begin() + static_cast<std::ptrdiff_t>(num_done));
}

}  // namespace tvllm::cuda::emulation
