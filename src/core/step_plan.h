// SPDX-License-Identifier: Apache-2.0
// What crosses the wall from the scheduler to the model executor in one step: ids, counts and block
// tables, by value. There is no prefill flag: a sequence has new tokens, one or many.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "core/request.h"

namespace tvllm {

// A sequence takes a state slot of the executor: first admission, or again after a preemption.
struct SequenceStart {
  SeqId seq_id;
  StateSlot state_slot;
  std::shared_ptr<const Request> request;
  // Prompt and what was generated before a preemption; the first `prompt_token_ids.size()` of them
  // are the prompt.
  std::vector<TokenId> known_token_ids;
};

// One sequence's share of a step: it computes positions
// [num_computed_tokens, num_computed_tokens + num_new_tokens).
struct PlannedSequence {
  SeqId seq_id;
  StateSlot state_slot;
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_new_tokens = 0;  // >= 1
  // The last new position is the last known token: its logits give the next token.
  bool samples_token = false;
  // Index of the token to sample among the sequence's outputs; counts over preemptions. Part of the
  // random key, and what min_tokens compares with.
  std::int32_t output_idx = 0;
};

// The block tables of one KV group, ragged: sequence i's blocks are
// blocks[offsets[i]] .. blocks[offsets[i + 1] - 1], in order of position.
struct BlockTables {
  std::vector<BlockId> blocks;
  std::vector<std::int32_t> offsets;  // num_sequences + 1

  std::span<const BlockId> of(std::size_t sequence_idx) const {
    return std::span<const BlockId>(blocks).subspan(
        static_cast<std::size_t>(offsets[sequence_idx]),
        static_cast<std::size_t>(offsets[sequence_idx + 1] - offsets[sequence_idx]));
  }
};

// Owned by the engine, which has two and lends them in turn; refilled without allocating once the
// vectors have grown.
//
// Invariants: (1) the num_new_tokens sum to token_ids.size(), at most the token budget;
// (2) each table holds ceil((num_computed + num_new) / block_size) blocks or more, of which those
// that a group's window has passed may be the null block; (3) a state slot
// stands at most once in `sequences`; (4) releases are to be applied before starts.
struct StepPlan {
  std::uint64_t step_id = 0;
  std::vector<StateSlot> released_slots;  // sequences that left since the last plan
  std::vector<SequenceStart> started;
  std::vector<PlannedSequence> sequences;
  // New tokens of all sequences in their order. kNoToken stands for a token that an earlier step,
  // still in flight, is sampling: the executor puts in what it sampled for that state slot.
  std::vector<TokenId> token_ids;
  std::vector<BlockTables> tables;  // one a KV group

  bool empty() const { return sequences.empty(); }
  std::int32_t num_tokens() const { return static_cast<std::int32_t>(token_ids.size()); }

  void clear() {
    released_slots.clear();
    started.clear();
    sequences.clear();
    token_ids.clear();
    for (BlockTables& table : tables) {
      table.blocks.clear();
      table.offsets.assign(1, 0);
    }
  }
};

}  // namespace tvllm
