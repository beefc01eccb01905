// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/host_memory.h"
#include "backend/cpu/kernel_table.h"
#include "base/thread_pool.h"
#include "tensor/tensor_view.h"

namespace tvllm::cpu {

// Runs attention over a ragged batch on all workers.
//
//   sequence -> tiles of up to 16 tokens -> one task for each KV head of a tile
//   task     -> splits of 256 positions, each attended on its own, merged in order; those before
//               the window of a tile's first token are left out
//
// Tasks are handed out one by one, since their costs differ. When there are too few of them for the
// workers (a few decodes with long contexts), the splits of a task are handed out too and merged
// afterwards: the same sums in the same order, so the same bits. Engine thread.
class AttentionRunner {
 public:
  AttentionRunner(const KernelTable& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // `qkv` begins with the query heads of each token; `out` is [num_tokens, num_heads * head_dim].
  void run(ConstFloatMatrix qkv, const backend::AttentionShape& shape,
           const backend::PagedBatch& batch, const backend::PagedKvView& view, const KvLayer& layer,
           FloatMatrix out);

 private:
  // Consecutive tokens of one sequence.
  struct Tile {
    std::int32_t first_token = 0;
    std::int32_t num_tokens = 0;
    std::int32_t first_position = 0;
    std::int32_t split_begin = 0;
    std::int32_t split_end = 0;
    std::int64_t first_split = 0;  // among the splits of all tiles
    const BlockId* table = nullptr;
  };
  // One call's operands, as the workers see them.
  struct Call;

  void list_tiles(const Call& call, const backend::PagedBatch& batch,
                  const backend::PagedKvView& view);
  void attend_tasks(const Call& call);
  void attend_splits(const Call& call);
  // Results of the splits of one task, one after another from `partials`, become rows of `out`.
  void attend_split(const Call& call, const Tile& tile, std::int32_t kv_head, std::int32_t split,
                    float* partials, std::byte* scratch) const;

  const KernelTable& kernels_;
  ThreadPool& pool_;  // both outlive the runner
  std::vector<Tile> tiles_;
  std::int64_t num_splits_ = 0;  // of all tiles
  Scratch worker_scratch_;       // a slice a worker
  Scratch partials_;             // of all splits, when splits are handed out
  std::atomic<std::int64_t> next_task_{0};
};

}  // namespace tvllm::cpu
