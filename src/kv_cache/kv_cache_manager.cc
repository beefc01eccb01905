// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/kv_cache_manager.h"

#include <algorithm>

#include "base/check.h"

namespace tvllm::kv_cache {

namespace {

std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace

KvCacheManager::KvCacheManager(const KvCacheManagerOptions& options)
    : options_(options), pool_(options.num_blocks) {
  TVLLM_CHECK(options.num_groups >= 1, "num_groups ", options.num_groups);
  TVLLM_CHECK(options.block_size >= 1 && (options.block_size & (options.block_size - 1)) == 0,
              "block_size ", options.block_size);
}

std::int64_t KvCacheManager::num_blocks_for_tokens(std::int64_t num_tokens) const {
  return ceil_div(num_tokens, options_.block_size) * options_.num_groups;
}

bool KvCacheManager::can_ever_fit(std::int64_t num_tokens) const {
  return num_blocks_for_tokens(num_tokens) <= num_blocks();
}

std::int64_t KvCacheManager::max_num_tokens() const {
  return std::int64_t{num_blocks() / options_.num_groups} * options_.block_size;
}

void KvCacheManager::add_sequence(SeqId seq_id, std::int64_t max_num_tokens) {
  const auto [it, inserted] = tables_.try_emplace(seq_id);
  TVLLM_CHECK(inserted, "sequence ", seq_id, " is held already");
  it->second.resize(static_cast<std::size_t>(options_.num_groups));
  const std::int64_t num_entries = ceil_div(max_num_tokens, options_.block_size);
  for (std::vector<BlockId>& table : it->second) {
    table.reserve(static_cast<std::size_t>(std::min<std::int64_t>(num_entries, num_blocks())));
  }
}

bool KvCacheManager::allocate_slots(SeqId seq_id, std::int64_t num_tokens) {
  const std::int32_t num_missing = num_missing_blocks(seq_id, num_tokens);
  if (num_missing > pool_.num_free_blocks()) return false;
  for (std::vector<BlockId>& table : tables_.find(seq_id)->second) {
    const bool taken = pool_.allocate(num_missing / options_.num_groups, table);
    TVLLM_CHECK(taken, "the pool has fewer blocks than it said");
  }
  return true;
}

std::int32_t KvCacheManager::num_missing_blocks(SeqId seq_id, std::int64_t num_tokens) const {
  const GroupTables& tables = tables_of(seq_id);
  const std::int64_t num_held = static_cast<std::int64_t>(tables.front().size());
  const std::int64_t num_missing = ceil_div(num_tokens, options_.block_size) - num_held;
  return static_cast<std::int32_t>(std::max<std::int64_t>(num_missing, 0) * options_.num_groups);
}

void KvCacheManager::release(SeqId seq_id) {
  const auto it = tables_.find(seq_id);
  if (it == tables_.end()) return;
  for (const std::vector<BlockId>& table : it->second) {
    pool_.free(table);
  }
  tables_.erase(it);
}

std::int32_t KvCacheManager::num_blocks_freed_by_release(SeqId seq_id) const {
  std::int32_t num_freed = 0;
  for (const std::vector<BlockId>& table : tables_of(seq_id)) {
    for (const BlockId id : table) {
      if (pool_.ref_count(id) == 1) ++num_freed;
    }
  }
  return num_freed;
}

std::span<const BlockId> KvCacheManager::block_table(SeqId seq_id, std::int32_t group) const {
  return tables_of(seq_id)[static_cast<std::size_t>(group)];
}

const KvCacheManager::GroupTables& KvCacheManager::tables_of(SeqId seq_id) const {
  const auto it = tables_.find(seq_id);
  TVLLM_CHECK(it != tables_.end(), "sequence ", seq_id, " is not held");
  return it->second;
}

void KvCacheManager::check_invariants() const {
  pool_.check_invariants();
  std::vector<std::int32_t> num_entries(static_cast<std::size_t>(num_blocks()) + 1, 0);
  for (const auto& [seq_id, tables] : tables_) {
    for (const std::vector<BlockId>& table : tables) {
      TVLLM_CHECK(table.size() == tables.front().size(), "sequence ", seq_id,
                  " has tables of different length");
      for (const BlockId id : table) {
        ++num_entries[static_cast<std::size_t>(id.value())];
      }
    }
  }
  for (std::int32_t i = 1; i <= num_blocks(); ++i) {
    const std::int32_t expected = num_entries[static_cast<std::size_t>(i)];
    TVLLM_CHECK(pool_.ref_count(BlockId(i)) == expected, "block ", i, " has ",
                pool_.ref_count(BlockId(i)), " references and stands in ", expected, " tables");
  }
}

}  // namespace tvllm::kv_cache
