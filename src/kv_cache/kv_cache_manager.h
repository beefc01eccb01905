// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "kv_cache/block_pool.h"

namespace tvllm::kv_cache {

struct KvCacheManagerOptions {
  std::int32_t num_groups = 1;   // groups of layers with their own block tables
  std::int32_t block_size = 16;  // tokens, a power of two
  std::int32_t num_blocks = 0;   // usable blocks, shared by all groups
};

// Which blocks hold which sequence's K and V. Every sequence has one block table a KV group, which
// grows at its end, and position p of a sequence lies in
//
//   table[p / block_size], offset p % block_size
//
//   block_size 4, 10 tokens:   table  [ 7 | 2 | 9 ]
//                              block 7  0 1 2 3    block 2  4 5 6 7    block 9  8 9 . .
//
// All groups here attend to the full context, so their tables are equally long. A sliding-window
// group will put the null block where positions have left the window, before new blocks are taken.
//
// Owned by the scheduler. Engine thread only, but for the size questions below. Knows no tensors:
// which bytes a block is, the backend alone knows.
//
// Invariants: (1) a block's reference count is the number of table entries that name it; (2) the
// tables of a sequence have equal length. The scheduler asks for positions, never for blocks.
class KvCacheManager {
 public:
  // REQUIRES: num_groups >= 1, block_size a power of two, num_blocks >= 1
  explicit KvCacheManager(const KvCacheManagerOptions& options);

  // --- sizes: thread-safe, functions of the options ---
  std::int32_t num_blocks() const { return pool_.num_blocks(); }
  std::int32_t block_size() const { return options_.block_size; }
  std::int32_t num_groups() const { return options_.num_groups; }
  // Over all groups, for the positions [0, num_tokens).
  std::int64_t num_blocks_for_tokens(std::int64_t num_tokens) const;
  // Whether a sequence of so many tokens fits when it has the pool for itself.
  bool can_ever_fit(std::int64_t num_tokens) const;
  // The longest sequence that the pool holds.
  std::int64_t max_num_tokens() const;

  // --- blocks of sequences ---
  // Room for tables of up to `max_num_tokens` positions, so that growing them allocates nothing.
  // Takes no block. REQUIRES: the sequence is not held
  void add_sequence(SeqId seq_id, std::int64_t max_num_tokens);

  // Makes the tables cover the positions [0, num_tokens). False, and nothing changed, when the pool
  // has too few free blocks. REQUIRES: the sequence is held
  bool allocate_slots(SeqId seq_id, std::int64_t num_tokens);

  // Blocks that allocate_slots() would take.
  std::int32_t num_missing_blocks(SeqId seq_id, std::int64_t num_tokens) const;

  // Gives all blocks of the sequence back. Harmless when it is not held: the one way out for
  // finished, cancelled and preempted sequences alike.
  void release(SeqId seq_id);

  // Blocks that release() would make free: those no other sequence shares.
  std::int32_t num_blocks_freed_by_release(SeqId seq_id) const;

  // In order of position. Valid until the sequence's next change.
  std::span<const BlockId> block_table(SeqId seq_id, std::int32_t group) const;

  std::int32_t num_free_blocks() const { return pool_.num_free_blocks(); }
  std::int32_t num_used_blocks() const { return pool_.num_used_blocks(); }
  std::int32_t num_sequences() const { return static_cast<std::int32_t>(tables_.size()); }
  bool holds(SeqId seq_id) const { return tables_.contains(seq_id); }

  // Aborts with a message if an invariant is broken. Walks everything: for tests and idle times.
  void check_invariants() const;

 private:
  using GroupTables = std::vector<std::vector<BlockId>>;  // [num_groups]

  const GroupTables& tables_of(SeqId seq_id) const;

  const KvCacheManagerOptions options_;
  BlockPool pool_;
  std::unordered_map<SeqId, GroupTables> tables_;
};

}  // namespace tvllm::kv_cache
