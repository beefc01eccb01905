// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/block_pool.h"

#include "base/check.h"
#include "trace/trace_recorder.h"

namespace tvllm::kv_cache {

namespace {

std::size_t num_records(std::int32_t num_blocks) {
  TVLLM_CHECK(num_blocks >= 1, "a pool of ", num_blocks, " blocks");
  return static_cast<std::size_t>(num_blocks) + 1;
}

}  // namespace

BlockPool::BlockPool(std::int32_t num_blocks, std::int32_t block_size, trace::TraceRecorder* trace)
    : records_(num_records(num_blocks)),
      queue_(records_),
      index_(num_blocks, block_size),
      trace_(trace) {}

bool BlockPool::allocate(std::int32_t count, std::vector<BlockId>& table) {
  TVLLM_DCHECK(count >= 0, "count ", count);
  if (count > queue_.size()) return false;
  for (std::int32_t i = 0; i < count; ++i) {
    const BlockId id = queue_.pop_front();
    forget(id);
    record(id).ref_count = 1;
    table.push_back(id);
  }
  return true;
}

void BlockPool::touch(BlockId id) {
  BlockRecord& touched = record(id);
  if (touched.ref_count == 0) {
    queue_.remove(id);
    if (index_.contains(id)) --num_cached_;
  }
  ++touched.ref_count;
}

void BlockPool::free(std::span<const BlockId> table) {
  for (std::size_t i = table.size(); i > 0; --i) {
    const BlockId id = table[i - 1];
    BlockRecord& freed = record(id);
    TVLLM_CHECK(freed.ref_count > 0, "block ", id, " is freed, but no table holds it");
    if (--freed.ref_count > 0) continue;
    if (index_.has_twin(id)) index_.erase(id);
    if (index_.contains(id)) {
      queue_.append(id);
      ++num_cached_;
    } else {
      queue_.prepend(id);
    }
  }
}

void BlockPool::index_block(BlockId id, const BlockKey& key) {
  TVLLM_CHECK(record(id).ref_count > 0, "block ", id, " is indexed, but no table holds it");
  if (!index_.contains(id)) index_.insert(id, key);
}

// Also called for a block on its way out of the queue, which counts as cached until here.
void BlockPool::forget(BlockId id) {
  if (!index_.contains(id)) return;
  index_.erase(id);
  if (record(id).ref_count > 0) return;
  --num_cached_;
  if (trace_ != nullptr) trace_->add(trace::EventKind::kBlockEvicted, {}, {id.value()});
}

void BlockPool::forget_cached() {
  for (BlockId id = queue_.next(kNullBlock); id != kNullBlock; id = queue_.next(id)) {
    forget(id);
  }
}

void BlockPool::trace_queue() const {
  trace::TraceRecorder::ListWriter list(*trace_, trace::EventKind::kSnapshotQueue, {});
  for (BlockId id = queue_.next(kNullBlock); id != kNullBlock; id = queue_.next(id)) {
    list.add(index_.contains(id) ? 1 : 0, 0, id);
  }
}

void BlockPool::check_invariants() const {
  index_.check_invariants();
  std::int32_t num_used = 0;
  std::int32_t num_cached = 0;
  for (std::int32_t i = 1; i <= num_blocks(); ++i) {
    const BlockId id(i);
    const std::int32_t count = ref_count(id);
    TVLLM_CHECK(count >= 0, "block ", id, " has ", count, " references");
    TVLLM_CHECK((count == 0) == queue_.contains(id), "block ", id, " has ", count,
                " references, in the queue: ", queue_.contains(id));
    if (count > 0) ++num_used;
    if (count == 0 && index_.contains(id)) ++num_cached;
  }
  std::int32_t num_queued = 0;
  BlockId prev = kNullBlock;
  for (BlockId id = queue_.next(kNullBlock); id != kNullBlock; id = queue_.next(id)) {
    TVLLM_CHECK(queue_.prev(id) == prev, "block ", id, " does not link back to block ", prev);
    TVLLM_CHECK(++num_queued <= num_blocks(), "the free block queue runs in a circle");
    prev = id;
  }
  TVLLM_CHECK(num_queued == queue_.size() && num_used + num_queued == num_blocks(), num_used,
              " used and ", num_queued, " queued blocks of ", num_blocks());
  TVLLM_CHECK(num_cached == num_cached_, num_cached, " blocks are cached, counted are ",
              num_cached_);
}

BlockRecord& BlockPool::record(BlockId id) {
  TVLLM_CHECK(id.value() >= 1 && id.value() <= num_blocks(), "no block ", id, " in the pool");
  return records_[static_cast<std::size_t>(id.value())];
}

const BlockRecord& BlockPool::record(BlockId id) const {
  TVLLM_CHECK(id.value() >= 1 && id.value() <= num_blocks(), "no block ", id, " in the pool");
  return records_[static_cast<std::size_t>(id.value())];
}

}  // namespace tvllm::kv_cache
