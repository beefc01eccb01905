// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "core/step_result.h"
#include "sampling/sampler_state.h"
#include "sampling/scratch.h"

namespace tvllm::sampling {

struct SampledToken {
  TokenId token_id = kNoToken;  // kNoToken exactly where there is an error
  SequenceError error = SequenceError::kNone;
  bool has_logprobs = false;
  PositionLogprobs logprobs;  // of the raw distribution, if has_logprobs
};

// Picks output `output_idx` of a sequence from its row of raw logits, in the order of vLLM
// (vllm/v1/sample/sampler.py, Sampler.forward):
//
//   logit_bias, min_tokens mask, penalties     logits_pipeline.h
//   greedy: the best token, the lowest id of equals
//   else: temperature, min_p, top_k, top_p     truncation.h
//         a draw in order of id                random_draw.h
//   log-probabilities of the row as it came    logprobs.h
//
// A pure function of the row, the state and `output_idx`: the same bits in any batch, on any
// worker, after any preemption. The row is changed meanwhile and left as it was. Thread-safe for
// distinct rows and scratches; allocates nothing, but for the list of best tokens if asked for.
//
// kInvalidLogits: a NaN in the row, or nothing that can be sampled is left. +inf is a certainty.
SampledToken sample(std::span<float> logits, const SamplerState& state, std::int32_t output_idx,
                    SamplerScratch& scratch);

}  // namespace tvllm::sampling
