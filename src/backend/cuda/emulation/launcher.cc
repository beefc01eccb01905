// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/launcher.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/emulation/arena.h"
#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/current.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "base/thread_pool.h"

namespace tvllm::cuda::emulation {
namespace {

// The emulated multiprocessors.
class Workers {
 public:
  explicit Workers(int num_workers) : pool_(num_workers) {
    for (int i = 0; i < num_workers; ++i)
      runners_.push_back(std::make_unique<BlockRunner>(i));
  }

  Status run(const KernelCall& call) {
    const std::uint64_t num_blocks = std::uint64_t{call.grid.x} * call.grid.y * call.grid.z;
    std::atomic<std::uint64_t> next = 0;
    std::atomic<bool> failed = false;
    Mutex mutex;
    std::uint64_t first_fault_at = num_blocks;
    std::string fault;
    const auto work = [&](int worker_idx) {
      BlockRunner& runner = *runners_[static_cast<std::size_t>(worker_idx)];
      while (!failed) {
        const std::uint64_t block = next.fetch_add(1);
        if (block >= num_blocks) return;
        std::optional<std::string> found = runner.run(call, index_in(call.grid, block));
        if (!found) continue;
        failed = true;
        const MutexLock lock(mutex);
        if (block < first_fault_at) {
          first_fault_at = block;
          fault = std::move(*found);
        }
      }
    };
    if (num_blocks == 1) {
      work(0);
    } else {
      pool_.run(work);
    }
    if (!failed) return {};
    return make_error(ErrorCode::kInternal, str_cat(call.name, ": ", fault));
  }

 private:
  static uint3 index_in(dim3 grid, std::uint64_t block) {
    return {static_cast<unsigned>(block % grid.x), static_cast<unsigned>(block / grid.x % grid.y),
            static_cast<unsigned>(block / grid.x / grid.y)};
  }

  ThreadPool pool_;
  std::vector<std::unique_ptr<BlockRunner>> runners_;
};

Mutex g_mutex;
// Made by the first launch.
std::unique_ptr<Workers> g_workers TVLLM_GUARDED_BY(g_mutex);

// What a device of sm_90 refuses.
Status check_shape(const KernelCall& call) {
  const dim3 grid = call.grid;
  const dim3 block = call.block;
  const auto refuse = [&](const auto&... words) {
    return make_error(ErrorCode::kInvalidArgument, str_cat(call.name, ": launch: ", words...));
  };
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 ||
      grid.z > 65535) {
    return refuse("a grid of ", grid.x, " x ", grid.y, " x ", grid.z,
                  " blocks; 1 to 2147483647 x 65535 x 65535 are possible");
  }
  if (block.x == 0 || block.y == 0 || block.z == 0 || block.x > 1024 || block.y > 1024 ||
      block.z > 64 || std::uint64_t{block.x} * block.y * block.z > kMaxThreads) {
    return refuse("a block of ", block.x, " x ", block.y, " x ", block.z,
                  " threads; at most 1024 are possible, 64 in z");
  }
  if (call.shared_bytes > kMaxSharedBytes) {
    return refuse(call.shared_bytes, " bytes of shared memory; at most ", kMaxSharedBytes,
                  " are there");
  }
  return {};
}

}  // namespace

Status run_grid(const KernelCall& call) {
  TVLLM_RETURN_IF_ERROR(check_shape(call));
  const MutexLock lock(g_mutex);
  if (g_workers == nullptr) {
    g_workers = std::make_unique<Workers>(std::min(default_num_threads(), kMaxWorkers));
  }
  return g_workers->run(call);
}

void set_num_workers(int num_workers) {
  const MutexLock lock(g_mutex);
  g_workers = std::make_unique<Workers>(std::min(num_workers, kMaxWorkers));
}

void enter_kernel() {
  t_current.checking = true;
}
void leave_kernel() {
  t_current.checking = false;
}

}  // namespace tvllm::cuda::emulation
