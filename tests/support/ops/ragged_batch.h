// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "backend/paged_batch.h"
#include "base/ids.h"

namespace tvllm::testing {

// What one sequence has in a batch: its last `num_new` positions are computed.
struct SequenceSpan {
  std::int32_t context_len = 0;
  std::int32_t num_new = 0;
  std::vector<BlockId> blocks;     // of the whole context
  std::vector<TokenId> token_ids;  // of the new tokens; may be empty when nobody reads them
};

// A batch over one KV group, with its memory. `view` points into this object and lasts until the
// next `add`.
class RaggedBatch {
 public:
  explicit RaggedBatch(std::int32_t block_size) : block_size_(block_size) {}

  void add(const SequenceSpan& span);

  const backend::PagedBatch& view();
  const backend::PagedKvView& kv_view() { return view().kv_groups[0]; }
  std::int32_t num_tokens() const { return static_cast<std::int32_t>(positions_.size()); }

 private:
  std::int32_t block_size_;
  std::vector<TokenId> token_ids_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> query_offsets_{0};
  std::vector<std::int32_t> context_lens_;
  std::vector<BlockId> blocks_;
  std::vector<std::int32_t> block_offsets_{0};
  std::vector<std::int64_t> slots_;
  backend::PagedKvView kv_view_;
  backend::PagedBatch batch_;
};

// Hands out blocks 1, 2, ... in an order that no sequence's positions follow.
class BlockDealer {
 public:
  BlockDealer(std::int32_t num_blocks, std::int32_t block_size, std::uint32_t seed);
  // Blocks for `context_len` positions. REQUIRES: that many are left.
  std::vector<BlockId> take(std::int32_t context_len);

 private:
  std::int32_t block_size_;
  std::vector<BlockId> free_;
};

}  // namespace tvllm::testing
