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
      layout_({.num_groups = options.num_groups,
               .windows = options.windows,
               .block_size = options.block_size,
               .max_tokens_in_flight = options.max_tokens_in_flight}),
      trace_(trace),
      pool_(options.num_blocks, options.enable_prefix_caching ? options.block_size : 0, trace),
      hasher_(options.prefix_hash_seed),
      block_tokens_(static_cast<std::size_t>(std::max(options.block_size, 1))),
      num_leaving_(static_cast<std::size_t>(options.num_blocks) + 1, 0) {
  TVLLM_CHECK(options.num_groups >= 1, "num_groups ", options.num_groups);
  TVLLM_CHECK(options.windows.empty() ||
                  options.windows.size() == static_cast<std::size_t>(options.num_groups),
              options.windows.size(), " windows for ", options.num_groups, " groups");
  TVLLM_CHECK(!has_window(0), "group 0 has a window");
  TVLLM_CHECK(options.block_size >= 1 && (options.block_size & (options.block_size - 1)) == 0,
              "block_size ", options.block_size);
}

bool KvCacheManager::can_ever_fit(std::int64_t num_tokens) const {
  return layout_.num_blocks_for_tokens(num_tokens) <= num_blocks();
}

void KvCacheManager::add_sequence(SeqId seq_id, std::int64_t max_num_tokens) {
  const auto [it, inserted] = held_.try_emplace(seq_id);
  TVLLM_CHECK(inserted, "sequence ", seq_id, " is held already");
  it->second.tables.resize(static_cast<std::size_t>(options_.num_groups));
  it->second.num_passed.resize(static_cast<std::size_t>(options_.num_groups));
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

void KvCacheManager::free_behind_windows(SeqId seq_id, std::int32_t num_tokens) {
  Held& owner = held(seq_id);
  for (std::int32_t group = 1; group < options_.num_groups; ++group) {
    if (!has_window(group)) continue;
    const auto group_idx = static_cast<std::size_t>(group);
    std::vector<BlockId>& table = owner.tables[group_idx];
    std::size_t& num_passed = owner.num_passed[group_idx];
    const auto first_seen = std::min(
        table.size(), static_cast<std::size_t>(layout_.first_block_seen(group, num_tokens)));
    if (first_seen <= num_passed) continue;
    const std::span<BlockId> passed = std::span(table).subspan(num_passed, first_seen - num_passed);
    pool_.free(passed);
    if (trace_ != nullptr) trace_freed(seq_id, group_idx, num_passed, passed);
    std::fill(passed.begin(), passed.end(), kNullBlock);
    num_passed = first_seen;
  }
}

void KvCacheManager::release(SeqId seq_id) {
  const auto it = held_.find(seq_id);
  if (it == held_.end()) return;
  const Held& owner = it->second;
  for (std::size_t group = 0; group < owner.tables.size(); ++group) {
    pool_.free(owner.blocks(group));
    if (trace_ != nullptr) trace_freed(seq_id, group, owner.num_passed[group], owner.blocks(group));
  }
  held_.erase(it);
}

std::int32_t KvCacheManager::num_blocks_freed_by_release(std::span<const SeqId> seq_ids) const {
  std::int32_t num_freed = 0;
  const auto for_blocks = [&](auto&& use) {
    for (const SeqId seq_id : seq_ids) {
      const Held& owner = held(seq_id);
      for (std::size_t group = 0; group < owner.tables.size(); ++group) {
        for (const BlockId id : owner.blocks(group))
          use(id, num_leaving_[static_cast<std::size_t>(id.value())]);
      }
    }
  };
  for_blocks([&](BlockId id, std::int32_t& num_leaving) {
    if (++num_leaving == pool_.ref_count(id)) ++num_freed;
  });
  for_blocks([](BlockId, std::int32_t& num_leaving) { num_leaving = 0; });
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

// Groups without a window have the blocks from the first one on, as far as all of them have them;
// then the length is cut until the others have what the next token sees.
void KvCacheManager::find_hit(const HashChain& chain, const TokenHistory& history,
                              std::int32_t max_num_tokens, PrefixHit& hit) {
  hit.num_tokens = 0;
  hit.tables.resize(static_cast<std::size_t>(options_.num_groups));
  for (std::vector<BlockId>& table : hit.tables)
    table.clear();
  if (!options_.enable_prefix_caching) return;
  const std::int32_t num_blocks = max_num_tokens / options_.block_size;
  TVLLM_DCHECK(chain.blocks.size() >= static_cast<std::size_t>(num_blocks), chain.blocks.size(),
               " hashes for ", num_blocks, " blocks");
  find_full(chain, history, num_blocks, hit);
  if (layout_.num_full_groups() < options_.num_groups) find_windows(chain, history, hit);
  hit.num_tokens = static_cast<std::int32_t>(hit.tables.front().size()) * options_.block_size;
}

void KvCacheManager::find_full(const HashChain& chain, const TokenHistory& history,
                               std::int32_t num_blocks, PrefixHit& hit) {
  for (std::int32_t b = 0; b < num_blocks; ++b) {
    for (std::int32_t group = 0; group < options_.num_groups; ++group) {
      if (has_window(group)) continue;
      const BlockId id = find_block(chain, history, group, b, hit.tables);
      if (id == kNullBlock) {
        for (std::vector<BlockId>& longer : hit.tables)
          longer.resize(std::min(longer.size(), static_cast<std::size_t>(b)));
        return;
      }
      hit.tables[static_cast<std::size_t>(group)].push_back(id);
    }
  }
}

// From the end: where a block is missing that the token behind `num_blocks` sees, every length that
// reaches beyond that block lacks it too, so the search goes on with the length that ends there.
void KvCacheManager::find_windows(const HashChain& chain, const TokenHistory& history,
                                  PrefixHit& hit) {
  const auto find_missing = [&](std::int32_t num_blocks) -> std::int32_t {
    const std::int64_t position = std::int64_t{num_blocks} * options_.block_size;
    for (std::int32_t b = num_blocks - 1; b >= 0; --b) {
      bool is_seen = false;
      for (std::int32_t group = 1; group < options_.num_groups; ++group) {
        if (!has_window(group) || b < layout_.first_block_seen(group, position)) continue;
        is_seen = true;
        BlockId& found = hit.tables[static_cast<std::size_t>(group)][static_cast<std::size_t>(b)];
        if (found == kNullBlock) found = find_block(chain, history, group, b, hit.tables);
        if (found == kNullBlock) return b;
      }
      if (!is_seen) break;
    }
    return num_blocks;
  };
  auto num_blocks = static_cast<std::int32_t>(hit.tables.front().size());
  for (std::int32_t group = 1; group < options_.num_groups; ++group) {
    if (!has_window(group)) continue;
    hit.tables[static_cast<std::size_t>(group)].assign(static_cast<std::size_t>(num_blocks),
                                                       kNullBlock);
  }
  for (std::int32_t missing = find_missing(num_blocks); missing < num_blocks;
       missing = find_missing(num_blocks)) {
    num_blocks = missing;
  }
  for (std::int32_t group = 0; group < options_.num_groups; ++group) {
    std::vector<BlockId>& table = hit.tables[static_cast<std::size_t>(group)];
    table.resize(static_cast<std::size_t>(num_blocks));
    const std::int64_t first_seen =
        layout_.first_block_seen(group, std::int64_t{num_blocks} * options_.block_size);
    // What a longer hit would have needed.
    if (has_window(group)) std::fill_n(table.begin(), first_seen, kNullBlock);
  }
}

// The null block if the index has none. REQUIRES: `tables` has the blocks that tell what it holds
BlockId KvCacheManager::find_block(const HashChain& chain, const TokenHistory& history,
                                   std::int32_t group, std::int32_t block_idx,
                                   const GroupTables& tables) {
  const auto idx = static_cast<std::size_t>(block_idx);
  return pool_.index().find({.group = group,
                             .parent = parent_of(group, idx, tables),
                             .hash = chain.blocks[idx],
                             .token_ids = copy_block(history, block_idx)});
}

ContentId KvCacheManager::parent_of(std::int32_t group, std::size_t block_idx,
                                    const GroupTables& tables) const {
  if (has_window(group)) return pool_.index().content(tables.front()[block_idx]);
  if (block_idx == 0) return kNoContent;
  return pool_.index().content(tables[static_cast<std::size_t>(group)][block_idx - 1]);
}

std::int64_t KvCacheManager::num_blocks_needed(std::int64_t num_tokens,
                                               const PrefixHit& hit) const {
  std::int64_t num_needed = 0;
  for (std::int32_t group = 0; group < options_.num_groups; ++group) {
    const std::vector<BlockId>& table = hit.tables[static_cast<std::size_t>(group)];
    const auto num_cached = std::count_if(table.begin(), table.end(), [this](BlockId id) {
      return id != kNullBlock && pool_.ref_count(id) == 0;
    });
    const std::int64_t num_new =
        ceil_div(num_tokens, options_.block_size) - static_cast<std::int64_t>(table.size());
    num_needed += std::min(layout_.num_blocks_of_group(group, num_tokens), num_new + num_cached);
  }
  return num_needed;
}

void KvCacheManager::take_hit(SeqId seq_id, const PrefixHit& hit) {
  Held& taker = held(seq_id);
  TVLLM_CHECK(taker.tables.front().empty(), "sequence ", seq_id, " has blocks already");
  for (std::size_t group = 0; group < taker.tables.size(); ++group) {
    for (const BlockId id : hit.tables[group]) {
      std::vector<BlockId>& table = taker.tables[group];
      if (id == kNullBlock) {
        ++taker.num_passed[group];
      } else {
        pool_.touch(id);
      }
      if (trace_ != nullptr && id != kNullBlock) {
        trace_->add(trace::EventKind::kBlockShared, seq_id,
                    {id.value(), static_cast<std::int32_t>(group),
                     static_cast<std::int32_t>(table.size()), pool_.ref_count(id)});
      }
      table.push_back(id);
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
    const BlockId id = tables[static_cast<std::size_t>(group)][block_idx];
    const ContentId parent = parent_of(group, block_idx, tables);
    const bool is_first = block_idx == 0 && !has_window(group);
    if (id == kNullBlock || (parent == kNoContent && !is_first)) return false;
    pool_.index_block(id, {.group = group, .parent = parent, .hash = hash, .token_ids = token_ids});
  }
  return true;
}

void KvCacheManager::forget_blocks(SeqId seq_id, const HashChain& chain,
                                   const TokenHistory& history) {
  const Held& owner = held(seq_id);
  for (std::int32_t group = options_.num_groups - 1; group >= 0; --group) {
    const auto group_idx = static_cast<std::size_t>(group);
    const auto num_passed =
        std::min(static_cast<std::int32_t>(owner.num_passed[group_idx]), owner.num_indexed);
    for (std::int32_t b = 0; b < num_passed; ++b) {
      BlockId id = find_block(chain, history, group, b, owner.tables);
      for (; id != kNullBlock; id = find_block(chain, history, group, b, owner.tables))
        pool_.forget(id);
    }
    for (const BlockId id : owner.blocks(group_idx))
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

// In the order in which the pool frees: the last one first. The first of them is number `first_idx`
// of its table.
void KvCacheManager::trace_freed(SeqId seq_id, std::size_t group, std::size_t first_idx,
                                 std::span<const BlockId> blocks) const {
  for (std::size_t i = blocks.size(); i > 0; --i) {
    const BlockId id = blocks[i - 1];
    trace_->add(
        trace::EventKind::kBlockFreed, seq_id,
        {id.value(), static_cast<std::int32_t>(group), static_cast<std::int32_t>(first_idx + i - 1),
         pool_.ref_count(id), pool_.index().contains(id) ? 1 : 0});
  }
}

void KvCacheManager::trace_tables(SeqId seq_id) const {
  const Held& owner = held(seq_id);
  trace::TraceRecorder::ListWriter list(*trace_, trace::EventKind::kSnapshotBlocks, seq_id);
  for (std::size_t group = 0; group < owner.tables.size(); ++group) {
    std::size_t block_idx = owner.num_passed[group];
    for (const BlockId id : owner.blocks(group)) {
      list.add(static_cast<std::int32_t>(group), static_cast<std::int32_t>(block_idx), id);
      ++block_idx;
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
    for (std::size_t group = 0; group < owner.tables.size(); ++group) {
      const std::vector<BlockId>& table = owner.tables[group];
      TVLLM_CHECK(table.size() == owner.tables.front().size(), "sequence ", seq_id,
                  " has tables of different length");
      const auto num_null =
          static_cast<std::size_t>(std::count(table.begin(), table.end(), kNullBlock));
      TVLLM_CHECK(num_null == owner.num_passed[group] &&
                      (num_null == 0 || has_window(static_cast<std::int32_t>(group))),
                  "sequence ", seq_id, " has ", num_null, " null blocks in group ", group);
      for (const BlockId id : owner.blocks(group)) {
        TVLLM_CHECK(id != kNullBlock, "sequence ", seq_id, " has a null block behind others");
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
