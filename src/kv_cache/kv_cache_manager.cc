// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/kv_cache_manager.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "trace/trace_recorder.h"

namespace tvllm::kv_cache {

namespace {

std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace

KvCacheManager::KvCacheManager(const KvCacheManagerOptions& options, trace::TraceRecorder* trace)
    : options_(options),
      trace_(trace),
      pool_(options.num_blocks, options.enable_prefix_caching ? options.block_size : 0, trace),
      hasher_(options.prefix_hash_seed),
      block_tokens_(static_cast<std::size_t>(std::max(options.block_size, 1))),
      num_leaving_(static_cast<std::size_t>(options.num_blocks) + 1, 0) {
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
  const auto [it, inserted] = held_.try_emplace(seq_id);
  TVLLM_CHECK(inserted, "sequence ", seq_id, " is held already");
  it->second.tables.resize(static_cast<std::size_t>(options_.num_groups));
  const std::int64_t num_entries = ceil_div(max_num_tokens, options_.block_size);
  for (std::vector<BlockId>& table : it->second.tables) {
    table.reserve(static_cast<std::size_t>(std::min<std::int64_t>(num_entries, num_blocks())));
  }
}

bool KvCacheManager::allocate_slots(SeqId seq_id, std::int64_t num_tokens) {
  const std::int32_t num_missing = num_missing_blocks(seq_id, num_tokens);
  if (num_missing > pool_.num_available_blocks()) return false;
  GroupTables& tables = held(seq_id).tables;
  const std::int32_t num_per_group = num_missing / options_.num_groups;
  for (std::size_t group = 0; group < tables.size(); ++group) {
    const bool taken = pool_.allocate(num_per_group, tables[group]);
    TVLLM_CHECK(taken, "the pool has fewer blocks than it said");
    if (trace_ != nullptr) trace_taken(seq_id, group, tables[group], num_per_group);
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
  const auto it = held_.find(seq_id);
  if (it == held_.end()) return;
  const GroupTables& tables = it->second.tables;
  for (std::size_t group = 0; group < tables.size(); ++group) {
    pool_.free(tables[group]);
    if (trace_ != nullptr) trace_freed(seq_id, group, tables[group]);
  }
  held_.erase(it);
}

std::int32_t KvCacheManager::num_blocks_freed_by_release(std::span<const SeqId> seq_ids) const {
  std::int32_t num_freed = 0;
  for (const SeqId seq_id : seq_ids) {
    for (const std::vector<BlockId>& table : tables_of(seq_id)) {
      for (const BlockId id : table) {
        const std::int32_t count = ++num_leaving_[static_cast<std::size_t>(id.value())];
        if (count == pool_.ref_count(id)) ++num_freed;
      }
    }
  }
  for (const SeqId seq_id : seq_ids) {
    for (const std::vector<BlockId>& table : tables_of(seq_id)) {
      for (const BlockId id : table)
        num_leaving_[static_cast<std::size_t>(id.value())] = 0;
    }
  }
  return num_freed;
}

std::span<const BlockId> KvCacheManager::block_table(SeqId seq_id, std::int32_t group) const {
  return tables_of(seq_id)[static_cast<std::size_t>(group)];
}

void KvCacheManager::extend(HashChain& chain, const TokenHistory& history,
                            std::string_view cache_salt) {
  if (!options_.enable_prefix_caching) return;
  if (!chain.root) {
    const std::array<ExtraKey, 2> keys = {{{ExtraKeyKind::kModel, options_.model_fingerprint},
                                           {ExtraKeyKind::kCacheSalt, cache_salt}}};
    chain.root = hasher_.root(std::span(keys).first(cache_salt.empty() ? 1 : 2));
  }
  const std::size_t num_full = static_cast<std::size_t>(history.size() / options_.block_size);
  while (chain.blocks.size() < num_full) {
    const auto block_idx = static_cast<std::int32_t>(chain.blocks.size());
    const BlockHash& parent = chain.blocks.empty() ? *chain.root : chain.blocks.back();
    chain.blocks.push_back(hasher_.child(parent, copy_block(history, block_idx)));
  }
}

void KvCacheManager::find_hit(const HashChain& chain, const TokenHistory& history,
                              std::int32_t max_num_tokens, PrefixHit& hit) {
  hit.num_tokens = 0;
  hit.num_used_blocks = 0;
  hit.tables.resize(static_cast<std::size_t>(options_.num_groups));
  for (std::vector<BlockId>& table : hit.tables)
    table.clear();
  if (!options_.enable_prefix_caching) return;
  const std::int32_t num_blocks = max_num_tokens / options_.block_size;
  TVLLM_DCHECK(chain.blocks.size() >= static_cast<std::size_t>(num_blocks), chain.blocks.size(),
               " hashes for ", num_blocks, " blocks");
  for (std::int32_t b = 0; b < num_blocks; ++b) {
    const BlockHash& hash = chain.blocks[static_cast<std::size_t>(b)];
    if (!find_block(hash, copy_block(history, b), hit)) return;
    hit.num_tokens += options_.block_size;
    for (const std::vector<BlockId>& table : hit.tables) {
      if (pool_.ref_count(table.back()) > 0) ++hit.num_used_blocks;
    }
  }
}

// Appends the next block of each group, or of none if one group lacks it.
bool KvCacheManager::find_block(const BlockHash& hash, std::span<const TokenId> token_ids,
                                PrefixHit& hit) const {
  const std::size_t num_found = hit.tables.front().size();
  for (std::int32_t group = 0; group < options_.num_groups; ++group) {
    std::vector<BlockId>& table = hit.tables[static_cast<std::size_t>(group)];
    const BlockKey key{
        .group = group,
        .parent = table.empty() ? kNoContent : pool_.index().content(table.back()),
        .hash = hash,
        .token_ids = token_ids,
    };
    const BlockId id = pool_.index().find(key);
    if (id == kNullBlock) {
      for (std::vector<BlockId>& longer : hit.tables)
        longer.resize(num_found);
      return false;
    }
    table.push_back(id);
  }
  return true;
}

void KvCacheManager::take_hit(SeqId seq_id, const PrefixHit& hit) {
  Held& taker = held(seq_id);
  TVLLM_CHECK(taker.tables.front().empty(), "sequence ", seq_id, " has blocks already");
  for (std::size_t group = 0; group < taker.tables.size(); ++group) {
    for (const BlockId id : hit.tables[group]) {
      pool_.touch(id);
      if (trace_ != nullptr) {
        trace_->add(trace::EventKind::kBlockShared, seq_id,
                    {id.value(), static_cast<std::int32_t>(group),
                     static_cast<std::int32_t>(taker.tables[group].size()), pool_.ref_count(id)});
      }
      taker.tables[group].push_back(id);
    }
  }
  taker.num_indexed = hit.num_tokens / options_.block_size;
}

void KvCacheManager::index_blocks(SeqId seq_id, const HashChain& chain, const TokenHistory& history,
                                  std::int32_t num_tokens) {
  if (!options_.enable_prefix_caching) return;
  Held& owner = held(seq_id);
  const std::int32_t num_full = num_tokens / options_.block_size;
  TVLLM_DCHECK(chain.blocks.size() >= static_cast<std::size_t>(num_full), chain.blocks.size(),
               " hashes for ", num_full, " blocks");
  for (; owner.num_indexed < num_full; ++owner.num_indexed) {
    const std::size_t block_idx = static_cast<std::size_t>(owner.num_indexed);
    const auto token_ids = copy_block(history, owner.num_indexed);
    if (!index_block(owner.tables, block_idx, chain.blocks[block_idx], token_ids)) return;
  }
}

// False behind a block that was forgotten: nobody could get here from the first block.
bool KvCacheManager::index_block(const GroupTables& tables, std::size_t block_idx,
                                 const BlockHash& hash, std::span<const TokenId> token_ids) {
  for (std::int32_t group = 0; group < options_.num_groups; ++group) {
    const std::vector<BlockId>& table = tables[static_cast<std::size_t>(group)];
    ContentId parent = kNoContent;
    if (block_idx > 0) {
      parent = pool_.index().content(table[block_idx - 1]);
      if (parent == kNoContent) return false;
    }
    pool_.index_block(table[block_idx],
                      {.group = group, .parent = parent, .hash = hash, .token_ids = token_ids});
  }
  return true;
}

void KvCacheManager::forget_blocks(SeqId seq_id) {
  for (const std::vector<BlockId>& table : tables_of(seq_id)) {
    for (const BlockId id : table)
      pool_.forget(id);
  }
}

void KvCacheManager::trace_taken(SeqId seq_id, std::size_t group, std::span<const BlockId> table,
                                 std::int32_t num_taken) const {
  for (std::size_t i = table.size() - static_cast<std::size_t>(num_taken); i < table.size(); ++i) {
    trace_->add(trace::EventKind::kBlockTaken, seq_id,
                {table[i].value(), static_cast<std::int32_t>(group), static_cast<std::int32_t>(i)});
  }
}

// In the order in which the pool frees: the last one first.
void KvCacheManager::trace_freed(SeqId seq_id, std::size_t group,
                                 std::span<const BlockId> table) const {
  for (std::size_t i = table.size(); i > 0; --i) {
    const BlockId id = table[i - 1];
    trace_->add(trace::EventKind::kBlockFreed, seq_id,
                {id.value(), static_cast<std::int32_t>(group), static_cast<std::int32_t>(i - 1),
                 pool_.ref_count(id), pool_.index().contains(id) ? 1 : 0});
  }
}

void KvCacheManager::trace_tables(SeqId seq_id) const {
  const GroupTables& tables = tables_of(seq_id);
  trace::TraceRecorder::ListWriter list(*trace_, trace::EventKind::kSnapshotBlocks, seq_id);
  for (std::size_t group = 0; group < tables.size(); ++group) {
    for (std::size_t i = 0; i < tables[group].size(); ++i) {
      list.add(static_cast<std::int32_t>(group), static_cast<std::int32_t>(i), tables[group][i]);
    }
  }
}

std::span<const TokenId> KvCacheManager::copy_block(const TokenHistory& history,
                                                    std::int32_t block_idx) {
  history.copy_to(block_idx * options_.block_size, block_tokens_);
  return block_tokens_;
}

const KvCacheManager::Held& KvCacheManager::held(SeqId seq_id) const {
  const auto it = held_.find(seq_id);
  TVLLM_CHECK(it != held_.end(), "sequence ", seq_id, " is not held");
  return it->second;
}

KvCacheManager::Held& KvCacheManager::held(SeqId seq_id) {
  return const_cast<Held&>(std::as_const(*this).held(seq_id));
}

void KvCacheManager::check_invariants() const {
  pool_.check_invariants();
  std::vector<std::int32_t> num_entries(static_cast<std::size_t>(num_blocks()) + 1, 0);
  for (const auto& [seq_id, owner] : held_) {
    for (const std::vector<BlockId>& table : owner.tables) {
      TVLLM_CHECK(table.size() == owner.tables.front().size(), "sequence ", seq_id,
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
