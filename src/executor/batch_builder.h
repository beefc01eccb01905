// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/paged_batch.h"
#include "core/step_plan.h"

namespace tvllm::executor {

// Turns a step plan into the arrays that a forward pass reads. Reuses its memory, so that a step
// allocates nothing once the largest batch was seen. Engine thread only.
//
//   plan: A computes positions 8..15, B position 30        block_size 4
//   token_ids      a8 a9 .. a15 b30
//   positions       8  9 ..  15  30
//   query_offsets   0            8  9
//   context_lens   16 31
//   slots          table_A[2] * 4 + 0, .., table_A[3] * 4 + 3, table_B[7] * 4 + 2
class BatchBuilder {
 public:
  BatchBuilder(std::int32_t num_kv_groups, std::int32_t block_size);

  // `token_ids` are the plan's with tokens of earlier steps filled in; they and the plan outlive
  // the returned view, which the next build() overwrites.
  const backend::PagedBatch& build(const StepPlan& plan, std::span<const TokenId> token_ids);

 private:
  void build_group(const StepPlan& plan, std::size_t group_idx);

  const std::int32_t block_size_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> query_offsets_;
  std::vector<std::int32_t> context_lens_;
  std::vector<std::vector<std::int64_t>> slots_;  // one a group
  std::vector<backend::PagedKvView> kv_groups_;
  backend::PagedBatch batch_;
};

}  // namespace tvllm::executor
