// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/step_timings.h"

namespace tvllm {

struct TokenLogprob {
  TokenId token_id = kNoToken;
  float logprob = 0.0f;   // natural logarithm, raw distribution
  std::int32_t rank = 0;  // 1 = most probable
};

// The log-probability of one position: of the token that stands there, and of the most probable
// ones, best first.
struct PositionLogprobs {
  TokenLogprob token;
  std::vector<TokenLogprob> top;
};

enum class SequenceError {
  kNone,
  kInvalidLogits,  // NaN or nothing but -inf in the row: this sequence fails, no other does
};

// Answers PlannedSequence i of the plan.
struct SequenceResult {
  SeqId seq_id;
  TokenId token_id = kNoToken;  // sampled token; kNoToken unless samples_token
  SequenceError error = SequenceError::kNone;
  bool has_logprobs = false;
  PositionLogprobs logprobs;  // of token_id, if has_logprobs
  // Of the prompt tokens at positions max(1, num_computed + 1) .. num_computed + num_new that exist
  // in the prompt, where the request asked: the logits of position p judge token p + 1.
  std::vector<PositionLogprobs> prompt_logprobs;
};

// Owned by the executor, valid until its next collect().
struct StepResult {
  std::uint64_t step_id = 0;
  std::vector<SequenceResult> sequences;  // parallel to plan.sequences
  ExecutionTimings timings = {};
};

}  // namespace tvllm
