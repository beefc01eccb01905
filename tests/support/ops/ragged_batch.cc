// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/ragged_batch.h"

#include <algorithm>
#include <random>
#include <span>

#include "base/check.h"

namespace tvllm::testing {

void RaggedBatch::add(const SequenceSpan& span) {
  for (std::int32_t i = 0; i < span.num_new; ++i) {
    const std::int32_t position = span.context_len - span.num_new + i;
    const BlockId block = span.blocks[static_cast<std::size_t>(position / block_size_)];
    positions_.push_back(position);
    slots_.push_back(std::int64_t{block.value()} * block_size_ + position % block_size_);
    token_ids_.push_back(span.token_ids.empty() ? 0 : span.token_ids[static_cast<std::size_t>(i)]);
  }
  query_offsets_.push_back(num_tokens());
  context_lens_.push_back(span.context_len);
  blocks_.insert(blocks_.end(), span.blocks.begin(), span.blocks.end());
  block_offsets_.push_back(static_cast<std::int32_t>(blocks_.size()));
}

const backend::PagedBatch& RaggedBatch::view() {
  kv_view_ = {block_size_, blocks_, block_offsets_, slots_};
  batch_ = {token_ids_, positions_, query_offsets_, context_lens_, std::span(&kv_view_, 1)};
  return batch_;
}

BlockDealer::BlockDealer(std::int32_t num_blocks, std::int32_t block_size, std::uint32_t seed)
    : block_size_(block_size) {
  for (std::int32_t b = 1; b < num_blocks; ++b) {
    free_.emplace_back(b);
  }
  std::mt19937 generator(seed);
  for (std::size_t i = free_.size(); i > 1; --i) {
    std::swap(free_[i - 1], free_[generator() % i]);
  }
}

std::vector<BlockId> BlockDealer::take(std::int32_t context_len) {
  const auto count = static_cast<std::size_t>((context_len + block_size_ - 1) / block_size_);
  TVLLM_CHECK(count <= free_.size(), count, " blocks of ", free_.size());
  const auto first = free_.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<BlockId> taken(first, free_.end());
  free_.erase(first, free_.end());
  return taken;
}

}  // namespace tvllm::testing
