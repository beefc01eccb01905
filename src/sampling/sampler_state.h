// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "core/request.h"
#include "sampling/penalties.h"

namespace tvllm::sampling {

// What sampling must remember of one running sequence. One per state slot of the executor, reused
// by the next sequence of the slot. Engine thread only while it changes; const while a step
// samples.
//
// begin() may allocate, append() does not. A sequence without penalties and without min_tokens
// costs nothing but the pointer to its request.
class SamplerState {
 public:
  // A sequence takes the slot, for the first time or again after a preemption: `known_token_ids`
  // are its prompt and what it had generated, `eos_token_ids` the model's. Tokens outside
  // 0 .. vocab_size - 1 are ignored throughout.
  void begin(std::shared_ptr<const Request> request, std::span<const TokenId> eos_token_ids,
             std::span<const TokenId> known_token_ids, std::int32_t vocab_size);

  // The sequence's next output token.
  void append(TokenId token_id);

  // The sequence left the slot.
  void end() { request_.reset(); }

  bool is_active() const { return request_ != nullptr; }
  // REQUIRES: is_active()
  const SamplingParams& params() const { return request_->sampling; }
  const Penalties& penalties() const { return penalties_; }
  const TokenCounts& counts() const { return counts_; }  // empty without penalties
  // Not to be sampled before min_tokens outputs: the EOS ids, also under ignore_eos, and the
  // request's stop ids. Ascending, distinct; empty without min_tokens.
  std::span<const TokenId> min_tokens_mask() const { return min_tokens_mask_; }

 private:
  // Shared with the client's side: the two end at different times.
  std::shared_ptr<const Request> request_;
  std::int32_t vocab_size_ = 0;
  Penalties penalties_;
  TokenCounts counts_;
  std::vector<TokenId> min_tokens_mask_;
};

}  // namespace tvllm::sampling
