// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "core/step_result.h"
#include "sampling/scratch.h"

namespace tvllm::sampling {

// The lowest log-probability that is reported, in place of -inf and of everything below: JSON has
// no infinity, and OpenAI and vLLM use this number.
inline constexpr float kMinLogprob = -9999.0f;

// Log-softmax of a row of raw logits, at `token_id` and at the `num_top` best tokens (kAllLogprobs:
// all of them, sorted). Normalized in double precision. Every number is finite, at most 0 and at
// least kMinLogprob; tokens of equal logits rank by id. Allocates the list of the best alone.
//
// A row that cannot be sampled from (RowStats::is_valid) gives kMinLogprob, rank 0 and an empty
// list: the caller fails that sequence. So does a token outside the row, with the list in place.
PositionLogprobs position_logprobs(std::span<const float> raw_logits, TokenId token_id,
                                   std::int32_t num_top, SamplerScratch& scratch);

}  // namespace tvllm::sampling
