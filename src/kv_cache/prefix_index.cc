// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/prefix_index.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace tvllm::kv_cache {

PrefixIndex::PrefixIndex(std::int32_t num_blocks, std::int32_t block_size)
    : block_size_(block_size) {
  if (block_size == 0) return;
  const std::size_t num_entries = static_cast<std::size_t>(num_blocks) + 1;
  buckets_.resize(std::bit_ceil(num_entries), kNullBlock);
  entries_.resize(num_entries);
  tokens_.resize(num_entries * static_cast<std::size_t>(block_size), kNoToken);
}

BlockId PrefixIndex::find(const BlockKey& key) const {
  if (!enabled()) return kNullBlock;
  BlockId id = buckets_[bucket_of(key.hash)];
  while (id != kNullBlock && !matches(id, key)) {
    id = entry(id).next;
  }
  return id;
}

void PrefixIndex::insert(BlockId id, const BlockKey& key) {
  TVLLM_CHECK(enabled() && !contains(id), "block ", id, " is indexed already");
  TVLLM_CHECK(key.token_ids.size() == static_cast<std::size_t>(block_size_), "a block of ",
              key.token_ids.size(), " tokens");
  const BlockId twin = find(key);
  Entry& added = entry(id);
  added.hash = key.hash;
  added.content = twin == kNullBlock ? ContentId(++num_contents_) : content(twin);
  added.parent = key.parent;
  added.group = key.group;
  added.next = kNullBlock;
  std::copy(key.token_ids.begin(), key.token_ids.end(), tokens_of(id).begin());
  BlockId* link = &buckets_[bucket_of(key.hash)];
  while (*link != kNullBlock) {
    link = &entry(*link).next;
  }
  *link = id;
  ++size_;
}

bool PrefixIndex::has_twin(BlockId id) const {
  if (!contains(id)) return false;
  BlockId other = buckets_[bucket_of(entry(id).hash)];
  while (other != kNullBlock && (other == id || content(other) != content(id))) {
    other = entry(other).next;
  }
  return other != kNullBlock;
}

void PrefixIndex::erase(BlockId id) {
  TVLLM_CHECK(contains(id), "block ", id, " is not indexed");
  BlockId* link = &buckets_[bucket_of(entry(id).hash)];
  while (*link != id) {
    TVLLM_CHECK(*link != kNullBlock, "block ", id, " is not in its bucket");
    link = &entry(*link).next;
  }
  *link = entry(id).next;
  entry(id).content = kNoContent;
  --size_;
}

bool PrefixIndex::matches(BlockId id, const BlockKey& key) const {
  const Entry& found = entry(id);
  return found.hash == key.hash && found.parent == key.parent && found.group == key.group &&
         std::equal(key.token_ids.begin(), key.token_ids.end(), tokens_of(id).begin(),
                    tokens_of(id).end());
}

std::span<TokenId> PrefixIndex::tokens_of(BlockId id) {
  const std::size_t block_size = static_cast<std::size_t>(block_size_);
  return std::span(tokens_).subspan(static_cast<std::size_t>(id.value()) * block_size, block_size);
}

std::span<const TokenId> PrefixIndex::tokens_of(BlockId id) const {
  const std::size_t block_size = static_cast<std::size_t>(block_size_);
  return std::span(tokens_).subspan(static_cast<std::size_t>(id.value()) * block_size, block_size);
}

void PrefixIndex::check_invariants() const {
  std::int32_t num_listed = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (BlockId id = buckets_[bucket]; id != kNullBlock; id = entry(id).next) {
      TVLLM_CHECK(contains(id), "block ", id, " stands in a bucket, but carries no hash");
      TVLLM_CHECK(bucket_of(entry(id).hash) == bucket, "block ", id, " is in a wrong bucket");
      TVLLM_CHECK(++num_listed <= size_, "more blocks are listed than indexed, or in a circle");
    }
  }
  const auto num_carrying = std::count_if(entries_.begin(), entries_.end(),
                                          [](const Entry& e) { return e.content != kNoContent; });
  TVLLM_CHECK(num_listed == size_ && num_carrying == size_, num_listed, " blocks are listed, ",
              num_carrying, " carry a hash, ", size_, " are indexed");
}

}  // namespace tvllm::kv_cache
