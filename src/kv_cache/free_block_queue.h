// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"

namespace tvllm::kv_cache {

// What the pool keeps of one block. One array, indexed by BlockId, allocated at start; entry 0 is
// the null block.
struct BlockRecord {
  static constexpr std::int32_t kNotQueued = -1;

  std::int32_t ref_count = 0;  // block tables that hold the block; changed by BlockPool alone
  std::int32_t prev = kNotQueued;
  std::int32_t next = kNotQueued;
};

// The unreferenced blocks in eviction order: the front is taken first.
//
//     null block 0 <-> front <-> ... <-> back <-> null block 0
//
// Doubly linked through the records themselves, with the null block, which is never free, as the
// sentinel at both ends: no operation allocates, searches or branches on an end. A list and not a
// deque, because a block whose cached content is wanted again leaves from the middle.
//
// Owned by BlockPool, as are the records. Engine thread only.
//
// Invariants: (1) a block stands in the queue at most once; (2) the null block is never in it.
class FreeBlockQueue {
 public:
  // `records` outlive the queue; the entries must be fresh. Queues all blocks but the null block,
  // in order of their ids. REQUIRES: !records.empty()
  explicit FreeBlockQueue(std::span<BlockRecord> records);

  std::int32_t size() const { return size_; }
  bool contains(BlockId id) const { return record(id).next != BlockRecord::kNotQueued; }

  // REQUIRES: size() > 0
  BlockId pop_front();
  // REQUIRES: contains(id)
  void remove(BlockId id);
  // REQUIRES: !contains(id)
  void append(BlockId id) { insert_after(prev(kNullBlock), id); }
  // REQUIRES: !contains(id)
  void prepend(BlockId id) { insert_after(kNullBlock, id); }

  // For walking in eviction order: the block after `id`, kNullBlock at the end; the front follows
  // kNullBlock.
  BlockId next(BlockId id) const { return BlockId(record(id).next); }
  BlockId prev(BlockId id) const { return BlockId(record(id).prev); }

 private:
  BlockRecord& record(BlockId id) const { return records_[static_cast<std::size_t>(id.value())]; }
  void insert_after(BlockId before, BlockId id);

  std::span<BlockRecord> records_;  // owned by the pool
  std::int32_t size_ = 0;
};

}  // namespace tvllm::kv_cache
