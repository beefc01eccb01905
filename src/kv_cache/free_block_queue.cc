// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/free_block_queue.h"

#include "base/check.h"

namespace tvllm::kv_cache {

FreeBlockQueue::FreeBlockQueue(std::span<BlockRecord> records) : records_(records) {
  TVLLM_CHECK(!records.empty(), "no room for the null block");
  record(kNullBlock).prev = kNullBlock.value();
  record(kNullBlock).next = kNullBlock.value();
  for (std::size_t i = 1; i < records.size(); ++i) {
    append(BlockId(static_cast<std::int32_t>(i)));
  }
}

BlockId FreeBlockQueue::pop_front() {
  TVLLM_CHECK(size_ > 0, "the free block queue is empty");
  const BlockId front = next(kNullBlock);
  remove(front);
  return front;
}

void FreeBlockQueue::remove(BlockId id) {
  TVLLM_CHECK(id != kNullBlock && contains(id), "block ", id, " is not in the free block queue");
  BlockRecord& removed = record(id);
  record(prev(id)).next = removed.next;
  record(next(id)).prev = removed.prev;
  removed.prev = BlockRecord::kNotQueued;
  removed.next = BlockRecord::kNotQueued;
  --size_;
}

void FreeBlockQueue::insert_after(BlockId before, BlockId id) {
  TVLLM_CHECK(id != kNullBlock && !contains(id), "block ", id, " is in the free block queue");
  const BlockId after = next(before);
  record(id).prev = before.value();
  record(id).next = after.value();
  record(before).next = id.value();
  record(after).prev = id.value();
  ++size_;
}

}  // namespace tvllm::kv_cache
