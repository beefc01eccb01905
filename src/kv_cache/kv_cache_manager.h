// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "kv_cache/block_hash.h"
#include "kv_cache/block_pool.h"
#include "kv_cache/group_layout.h"

namespace tvllm::kv_cache {

struct KvCacheManagerOptions {
  std::int32_t num_groups = 1;             // groups of layers with their own block tables
  std::vector<std::int32_t> windows = {};  // of the groups: group_layout.h
  std::int32_t max_tokens_in_flight = 0;   // of one sequence
  std::int32_t block_size = 16;            // tokens, a power of two
  std::int32_t num_blocks = 0;             // usable blocks, shared by all groups
  bool enable_prefix_caching = false;
  std::string model_fingerprint = {};               // what K and V depend on beside the tokens
  std::optional<std::uint64_t> prefix_hash_seed{};  // for tests; nothing: a secret is drawn
};

// The longest beginning of a sequence that need not be computed: the prefix index has its blocks,
// of a group with a window those that the next token sees.
struct PrefixHit {
  std::int32_t num_tokens = 0;
  // [num_groups], equally long; the null block stands for what a window has left.
  std::vector<std::vector<BlockId>> tables;
};

// Which blocks hold which sequence's K and V. Every sequence has one block table a KV group, which
// grows at its end, and position p of a sequence lies in
//
//   table[p / block_size], offset p % block_size
//
//   block_size 4, 10 tokens:   table  [ 7 | 2 | 9 ]
//                              block 7  0 1 2 3    block 2  4 5 6 7    block 9  8 9 . .
//
// In a group with a sliding window the null block stands where no token to come sees anything:
// those blocks went back to the pool. Its table begins with them and is as long as the others.
//
//   window 5, 12 tokens computed:   table  [ 0 | 0 | 9 ]     the next token sees positions 8 .. 12
//
// Owned by the scheduler. Engine thread only, but for the size questions below. Knows no tensors:
// which bytes a block is, the backend alone knows.
//
// Full blocks whose K and V are computed can be shared: index_blocks() offers them, find_hit() and
// take_hit() give them to a sequence that begins with the same tokens. Nobody writes into a full
// block, so sharing needs no copies.
//
// What a block of a group with a window holds is told by the block of group 0 that holds the same
// positions, since the one before it may be gone.
//
// Invariants: (1) a block's reference count is the number of table entries that name it; (2) the
// tables of a sequence have equal length; (3) a block is indexed only behind an indexed one, and,
// but for windows, evicted before it. The scheduler asks for positions, never for blocks.
class KvCacheManager {
 public:
  // REQUIRES: num_groups >= 1, no window in group 0, block_size a power of two, num_blocks >= 1
  // `trace`, if not null, outlives the manager.
  explicit KvCacheManager(const KvCacheManagerOptions& options,
                          trace::TraceRecorder* trace = nullptr);

  // --- sizes: thread-safe, functions of the options ---
  std::int32_t num_blocks() const { return pool_.num_blocks(); }
  std::int32_t block_size() const { return options_.block_size; }
  std::int32_t num_groups() const { return options_.num_groups; }
  const GroupLayout& layout() const { return layout_; }
  // Whether a sequence of so many tokens fits when it has the pool for itself.
  bool can_ever_fit(std::int64_t num_tokens) const;
  // The longest sequence that the pool holds.
  std::int64_t max_num_tokens() const { return layout_.max_num_tokens(num_blocks()); }

  // --- blocks of sequences ---
  // Room for tables of up to `max_num_tokens` positions, so that growing them allocates nothing.
  // Takes no block. REQUIRES: the sequence is not held
  void add_sequence(SeqId seq_id, std::int64_t max_num_tokens);

  // Makes the tables cover the positions [0, num_tokens). False, and nothing changed, when the pool
  // has too few free blocks. REQUIRES: the sequence is held
  bool allocate_slots(SeqId seq_id, std::int64_t num_tokens);

  // Blocks that allocate_slots() would take.
  std::int32_t num_missing_blocks(SeqId seq_id, std::int64_t num_tokens) const;

  // The K and V of the positions [0, num_tokens) are computed: blocks that no later token sees go
  // back to the pool. What is to be shared of them was offered before.
  void free_behind_windows(SeqId seq_id, std::int32_t num_tokens);

  // Gives all blocks of the sequence back. Harmless when it is not held: the one way out for
  // finished, cancelled and preempted sequences alike.
  void release(SeqId seq_id);

  // Blocks that nobody would hold any more if all of these sequences were released. Blocks that
  // they share among themselves count, blocks that others share do not.
  std::int32_t num_blocks_freed_by_release(std::span<const SeqId> seq_ids) const;

  // In order of position, with null blocks where a window has passed. Valid until the sequence's
  // next change.
  std::span<const BlockId> block_table(SeqId seq_id, std::int32_t group) const;

  // --- prefix caching: without it nothing is hashed and nothing is ever hit ---
  // Appends the hashes of the history's full blocks that `chain` lacks.
  // REQUIRES: the chain is of an earlier state of this history, with the same salt
  void extend(HashChain& chain, const TokenHistory& history, std::string_view cache_salt);

  // What could be taken over of the first `max_num_tokens` positions, in whole blocks. Takes
  // nothing, so the answer holds until the next change of this object.
  // REQUIRES: `chain` covers them
  void find_hit(const HashChain& chain, const TokenHistory& history, std::int32_t max_num_tokens,
                PrefixHit& hit);

  // Blocks that the pool must have for a sequence to begin with the hit and get to `num_tokens`:
  // cached ones leave the queue like any other, those that somebody holds cost nothing.
  std::int64_t num_blocks_needed(std::int64_t num_tokens, const PrefixHit& hit) const;

  // The sequence's tables begin with the blocks of the hit. REQUIRES: it holds no block, and the
  // hit is fresh
  void take_hit(SeqId seq_id, const PrefixHit& hit);

  // The K and V of the positions [0, num_tokens) are computed: full blocks among them may be shared
  // from now on. REQUIRES: the chain covers them
  void index_blocks(SeqId seq_id, const HashChain& chain, const TokenHistory& history,
                    std::int32_t num_tokens);

  // What the sequence holds is not to be shared any more, by whomever it was computed; nor is what
  // it gave back when a window had passed.
  void forget_blocks(SeqId seq_id, const HashChain& chain, const TokenHistory& history);

  // Drops the content of all unreferenced blocks.
  void reset_prefix_cache() { pool_.forget_cached(); }

  // --- counts: used + cached + free = num_blocks() ---
  std::int32_t num_used_blocks() const { return pool_.num_used_blocks(); }
  std::int32_t num_cached_blocks() const { return pool_.num_cached_blocks(); }
  std::int32_t num_free_blocks() const { return pool_.num_free_blocks(); }
  // What allocate_slots() can take: cached and free ones.
  std::int32_t num_available_blocks() const { return pool_.num_available_blocks(); }
  std::int32_t num_sequences() const { return static_cast<std::int32_t>(held_.size()); }
  bool holds(SeqId seq_id) const { return held_.contains(seq_id); }

  // --- for a snapshot in the trace. REQUIRES: there is a trace ---
  // The sequence's block tables. REQUIRES: it is held
  void trace_tables(SeqId seq_id) const;
  void trace_queue() const { pool_.trace_queue(); }

  // Aborts with a message if an invariant is broken. Walks everything: for tests and idle times.
  void check_invariants() const;

 private:
  using GroupTables = std::vector<std::vector<BlockId>>;  // [num_groups]

  struct Held {
    GroupTables tables;
    std::vector<std::size_t> num_passed;  // [num_groups], the null blocks each table begins with
    std::int32_t num_indexed = 0;         // leading blocks of each table that were hit or offered

    std::span<const BlockId> blocks(std::size_t group) const {
      return std::span<const BlockId>(tables[group]).subspan(num_passed[group]);
    }
  };

  const Held& held(SeqId seq_id) const;
  Held& held(SeqId seq_id);
  const GroupTables& tables_of(SeqId seq_id) const { return held(seq_id).tables; }
  void trace_taken(SeqId seq_id, std::size_t group, std::span<const BlockId> table,
                   std::int32_t num_taken) const;
  void trace_freed(SeqId seq_id, std::size_t group, std::size_t first_idx,
                   std::span<const BlockId> blocks) const;
  std::span<const TokenId> copy_block(const TokenHistory& history, std::int32_t block_idx);
  bool has_window(std::int32_t group) const { return layout_.window(group) > 0; }
  BlockId find_block(const HashChain& chain, const TokenHistory& history, std::int32_t group,
                     std::int32_t block_idx, const GroupTables& tables);
  ContentId parent_of(std::int32_t group, std::size_t block_idx, const GroupTables& tables) const;
  void find_full(const HashChain& chain, const TokenHistory& history, std::int32_t num_blocks,
                 PrefixHit& hit);
  void find_windows(const HashChain& chain, const TokenHistory& history, PrefixHit& hit);
  bool index_block(const GroupTables& tables, std::size_t block_idx, const BlockHash& hash,
                   std::span<const TokenId> token_ids);

  const KvCacheManagerOptions options_;
  const GroupLayout layout_;
  trace::TraceRecorder* const trace_;
  BlockPool pool_;
  BlockHasher hasher_;
  std::unordered_map<SeqId, Held> held_;
  std::vector<TokenId> block_tokens_;              // [block_size]
  mutable std::vector<std::int32_t> num_leaving_;  // [num_blocks + 1], all 0 between calls
};

}  // namespace tvllm::kv_cache
