// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv_cache/block_hash.h"

namespace tvllm::kv_cache {

// A number for the content of an indexed block: its tokens and all before them. Blocks with the
// same content have the same number; numbers are never used again.
using ContentId = StrongId<struct ContentIdTag, std::uint64_t>;
inline constexpr ContentId kNoContent{0};  // stands before the first block

// What is looked for: the next block of a sequence.
struct BlockKey {
  std::int32_t group = 0;  // KV group: its blocks hold other layers
  ContentId parent;        // of the block before it in the same group
  const BlockHash& hash;
  std::span<const TokenId> token_ids;  // block_size of them
};

// Finds full blocks by the hash of everything up to and including them.
//
//   buckets_[hash bits]  ->  block 7  ->  block 31  ->  null block
//
// The hash finds, the comparison decides: group, hash, tokens and the identity of the block before
// must all agree. By induction from the first block equal content ids mean equal tokens from
// position 0 on, so a collision of hashes costs a miss and can never share a wrong block. Only the
// extra keys (cache salt, model) rest on the hash alone.
//
// Duplicates, blocks of the same content, stand side by side; the one that was there first is
// found. They carry one content id, so it does not matter which of them a sequence has before its
// next block.
//
// Owned by BlockPool. Engine thread only. Allocates at construction and never again.
//
// Invariant: a block stands in the list of its hash's bucket exactly while it is indexed.
class PrefixIndex {
 public:
  // With block_size 0 nothing can be indexed, and no memory is taken. The null block apart.
  PrefixIndex(std::int32_t num_blocks, std::int32_t block_size);

  // The null block if there is none.
  BlockId find(const BlockKey& key) const;

  // REQUIRES: !contains(id), the block's K and V are those of the key
  void insert(BlockId id, const BlockKey& key);
  // REQUIRES: contains(id)
  void erase(BlockId id);

  bool contains(BlockId id) const { return enabled() && entry(id).content != kNoContent; }
  // kNoContent for a block that is not indexed.
  ContentId content(BlockId id) const { return enabled() ? entry(id).content : kNoContent; }
  // Another indexed block has the same content.
  bool has_twin(BlockId id) const;
  std::int32_t size() const { return size_; }
  bool enabled() const { return block_size_ > 0; }

  // Aborts with a message if an invariant is broken. Walks everything.
  void check_invariants() const;

 private:
  struct Entry {
    BlockHash hash;
    ContentId content = kNoContent;
    ContentId parent = kNoContent;
    std::int32_t group = 0;
    BlockId next = kNullBlock;  // in the bucket
  };

  const Entry& entry(BlockId id) const { return entries_[static_cast<std::size_t>(id.value())]; }
  Entry& entry(BlockId id) { return entries_[static_cast<std::size_t>(id.value())]; }
  std::size_t bucket_of(const BlockHash& hash) const {
    return static_cast<std::size_t>(hash.bucket_bits()) & (buckets_.size() - 1);
  }
  std::span<TokenId> tokens_of(BlockId id);
  std::span<const TokenId> tokens_of(BlockId id) const;
  bool matches(BlockId id, const BlockKey& key) const;

  const std::int32_t block_size_;
  std::vector<BlockId> buckets_;  // the first of each; a power of two of them
  std::vector<Entry> entries_;    // [num_blocks + 1]
  std::vector<TokenId> tokens_;   // [num_blocks + 1][block_size]
  std::uint64_t num_contents_ = 0;
  std::int32_t size_ = 0;
};

}  // namespace tvllm::kv_cache
