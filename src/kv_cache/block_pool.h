// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv_cache/free_block_queue.h"
#include "kv_cache/prefix_index.h"

namespace tvllm::trace {
class TraceRecorder;
}

namespace tvllm::kv_cache {

// All KV cache blocks and who holds them: pure bookkeeping, no memory. The only class that changes
// a reference count.
//
//   used     referenced by at least one block table
//   cached   unreferenced, content still indexed: in the free block queue, may be shared again or
//            evicted
//   free     unreferenced, content worthless: in the free block queue
//
// Owned by KvCacheManager. Engine thread only. Allocates at construction and never again.
//
// Invariants: (1) used + cached + free = num_blocks; the null block 0 stands outside the count;
// (2) a block is in the queue exactly when its reference count is 0; (3) a block leaves the index
// before it is given away for other content.
class BlockPool {
 public:
  // With block_size 0 no content is indexed, so no block is ever cached.
  // REQUIRES: num_blocks >= 1, the null block apart
  // `trace`, if not null, outlives the pool.
  explicit BlockPool(std::int32_t num_blocks, std::int32_t block_size = 0,
                     trace::TraceRecorder* trace = nullptr);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::int32_t num_blocks() const { return static_cast<std::int32_t>(records_.size()) - 1; }
  std::int32_t num_used_blocks() const { return num_blocks() - queue_.size(); }
  std::int32_t num_cached_blocks() const { return num_cached_; }
  std::int32_t num_free_blocks() const { return queue_.size() - num_cached_; }
  // What allocate() can give: free and cached blocks.
  std::int32_t num_available_blocks() const { return queue_.size(); }
  std::int32_t ref_count(BlockId id) const { return record(id).ref_count; }

  // Appends `count` blocks with one reference each to `table`: free ones first, those freed last
  // before those that never held anything; then cached ones, whose content is evicted, the longest
  // unused first. False, and nothing changed, when there are fewer.
  bool allocate(std::int32_t count, std::vector<BlockId>& table);

  // One more table holds a block that is used or cached.
  void touch(BlockId id);

  // Drops one reference of each block of a table, the last block first: of a table's blocks its
  // tail is taken again before its head, which more other prompts may share. A block whose content
  // stands in another indexed block as well becomes free: one copy serves whoever comes.
  // REQUIRES: every block is referenced
  void free(std::span<const BlockId> table);

  // --- content that may be shared ---
  const PrefixIndex& index() const { return index_; }
  // The block holds what the key says, and keeps it until it is evicted or forgotten. Harmless when
  // it is indexed already. REQUIRES: it is used
  void index_block(BlockId id, const BlockKey& key);
  // The content is not to be shared any more; who holds the block keeps it.
  void forget(BlockId id);
  // All cached blocks become free. Used ones stay indexed.
  void forget_cached();

  // Writes the free block queue, in its order. REQUIRES: there is a trace
  void trace_queue() const;

  // Aborts with a message if an invariant is broken. Walks all blocks: for tests and idle times.
  void check_invariants() const;

 private:
  BlockRecord& record(BlockId id);
  const BlockRecord& record(BlockId id) const;

  std::vector<BlockRecord> records_;  // never resized: queue_ points into it
  FreeBlockQueue queue_;
  PrefixIndex index_;
  std::int32_t num_cached_ = 0;
  trace::TraceRecorder* const trace_;
};

}  // namespace tvllm::kv_cache
