// SPDX-License-Identifier: Apache-2.0
#include "executor/batch_builder.h"

#include "base/check.h"

namespace tvllm::executor {

BatchBuilder::BatchBuilder(std::int32_t num_kv_groups, std::int32_t block_size)
    : block_size_(block_size),
      slots_(static_cast<std::size_t>(num_kv_groups)),
      kv_groups_(static_cast<std::size_t>(num_kv_groups)) {}

const backend::PagedBatch& BatchBuilder::build(const StepPlan& plan,
                                               std::span<const TokenId> token_ids) {
  positions_.clear();
  context_lens_.clear();
  query_offsets_.assign(1, 0);
  for (const PlannedSequence& sequence : plan.sequences) {
    const std::int32_t end = sequence.num_computed_tokens + sequence.num_new_tokens;
    for (std::int32_t p = sequence.num_computed_tokens; p < end; ++p)
      positions_.push_back(p);
    query_offsets_.push_back(static_cast<std::int32_t>(positions_.size()));
    context_lens_.push_back(end);
  }
  TVLLM_DCHECK(positions_.size() == token_ids.size(), positions_.size(), " positions, ",
               token_ids.size(), " tokens");
  for (std::size_t group = 0; group < kv_groups_.size(); ++group)
    build_group(plan, group);

  batch_.token_ids = token_ids;
  batch_.positions = positions_;
  batch_.query_offsets = query_offsets_;
  batch_.context_lens = context_lens_;
  batch_.kv_groups = kv_groups_;
  return batch_;
}

void BatchBuilder::build_group(const StepPlan& plan, std::size_t group_idx) {
  const BlockTables& tables = plan.tables[group_idx];
  std::vector<std::int64_t>& slots = slots_[group_idx];
  slots.clear();
  for (std::size_t s = 0; s < plan.sequences.size(); ++s) {
    const std::span<const BlockId> blocks = tables.of(s);
    const std::int32_t first = plan.sequences[s].num_computed_tokens;
    for (std::int32_t p = first; p < context_lens_[s]; ++p) {
      const BlockId block = blocks[static_cast<std::size_t>(p / block_size_)];
      slots.push_back(std::int64_t{block.value()} * block_size_ + p % block_size_);
    }
  }
  kv_groups_[group_idx] = {block_size_, tables.blocks, tables.offsets, slots};
}

}  // namespace tvllm::executor
