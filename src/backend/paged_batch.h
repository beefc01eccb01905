// SPDX-License-Identifier: Apache-2.0
// Where the tokens of one forward pass stand: a ragged batch over a paged KV cache. Built by the
// executor from a StepPlan, read by every backend.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"

namespace tvllm::backend {

// The paged cache of one KV group, as the batch's sequences see it.
//
//   position p of sequence s lies in block blocks[block_offsets[s] + p / block_size],
//   slot = block * block_size + p % block_size
struct PagedKvView {
  std::int32_t block_size = 0;
  std::span<const BlockId> blocks;              // all sequences' tables, one after another
  std::span<const std::int32_t> block_offsets;  // [num_sequences + 1]
  std::span<const std::int64_t> slots;          // [num_tokens], where each new token's K and V go
};

// Sequence s owns the tokens query_offsets[s] .. query_offsets[s + 1] - 1, at consecutive positions
// that end at context_lens[s] - 1; a token attends to all positions up to its own. One token (a
// decode) and many (a chunk of a prompt) are the same case.
struct PagedBatch {
  std::span<const TokenId> token_ids;           // [num_tokens]
  std::span<const std::int32_t> positions;      // [num_tokens]
  std::span<const std::int32_t> query_offsets;  // [num_sequences + 1]
  std::span<const std::int32_t> context_lens;   // [num_sequences]
  std::span<const PagedKvView> kv_groups;       // [num_kv_groups]

  std::int32_t num_tokens() const { return static_cast<std::int32_t>(token_ids.size()); }
  std::int32_t num_sequences() const { return static_cast<std::int32_t>(context_lens.size()); }
};

}  // namespace tvllm::backend
