// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/request.h"
#include "kv_cache/block_hash.h"

namespace tvllm::scheduler {

//   add() --> waiting --> running --> finished
//                ^           |
//                +-preempted-+        cancel() leads to finished from everywhere
enum class SequenceStatus {
  kWaiting,    // in the queue, never admitted
  kRunning,    // has a state slot and takes part in steps
  kPreempted,  // in the queue again; its blocks were taken back, its outputs kept
  kFinished,   // ended; exists only as long as a submitted step refers to it
};

// The engine's mutable progress on one request.
//
//   position  0 ............. P ..................... known ... + pending
//             | prompt        | output_token_ids      | being sampled |
//             | computed ........ | planned ... |
//
// Known tokens are decided, pending ones are being sampled by steps in flight, computed ones have
// their K and V in the cache or in a step in flight; what a prefix hit brings is computed from the
// start. Each step moves `computed` towards
// known + pending; there is no other rule, and no prefill phase.
//
// A plain record, owned and changed by the Scheduler alone. Engine thread only.
struct Sequence {
  Sequence(SeqId seq_id, std::uint64_t arrival, std::shared_ptr<const Request> req,
           std::int32_t output_limit)
      : id(seq_id),
        arrival_idx(arrival),
        request(std::move(req)),
        max_output_tokens(output_limit) {}

  const SeqId id;
  const std::uint64_t arrival_idx;
  const std::shared_ptr<const Request> request;
  const std::int32_t max_output_tokens;

  SequenceStatus status = SequenceStatus::kWaiting;
  std::optional<StateSlot> state_slot;  // held together with the blocks, from admission to release
  std::vector<TokenId> output_token_ids;
  kv_cache::HashChain hashes;  // of the full blocks of known tokens, as far as they were needed

  std::int32_t num_computed_tokens = 0;
  std::int32_t num_pending_tokens = 0;
  std::int32_t num_planned_tokens = 0;  // of the plan being made; 0 outside Scheduler::plan
  std::int32_t num_steps_in_flight = 0;
  // Prompt positions whose results were delivered once; a recomputation delivers none again.
  std::int32_t num_prompt_tokens_done = 0;
  std::int32_t num_cached_tokens = 0;  // that its first admission found in the prefix index

  std::int32_t num_prompt_tokens() const {
    return static_cast<std::int32_t>(request->prompt_token_ids.size());
  }
  std::int32_t num_output_tokens() const {
    return static_cast<std::int32_t>(output_token_ids.size());
  }
  std::int32_t num_known_tokens() const { return num_prompt_tokens() + num_output_tokens(); }

  kv_cache::TokenHistory history() const { return {request->prompt_token_ids, output_token_ids}; }

  // kNoToken for a position whose token is still being sampled.
  TokenId token_at(std::int32_t position) const {
    if (position >= num_known_tokens()) return kNoToken;
    if (position < num_prompt_tokens()) {
      return request->prompt_token_ids[static_cast<std::size_t>(position)];
    }
    return output_token_ids[static_cast<std::size_t>(position - num_prompt_tokens())];
  }

  // What `computed` lacks. Nothing when the tokens in flight certainly end the sequence: the last
  // token that it may have is never computed.
  std::int32_t num_tokens_to_compute() const {
    if (num_output_tokens() + num_pending_tokens >= max_output_tokens) return 0;
    return num_known_tokens() + num_pending_tokens - num_computed_tokens;
  }

  // One token is left, and something stands before it: a decode, or the end of a chunked prompt,
  // which costs the same.
  bool is_decoding() const { return num_computed_tokens > 0 && num_tokens_to_compute() == 1; }
};

}  // namespace tvllm::scheduler
