// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "sampling/sampler_state.h"
#include "sampling/scratch.h"

namespace tvllm::sampling {

// Changes the logits that can change the best token, in place. Only few of a row's logits change;
// each is noted in scratch.edits, so that restore_logits can undo it. Returns whether any changed.
//
// Order: logit_bias, min_tokens mask, penalties. vLLM (vllm/v1/sample/sampler.py) masks before it
// adds the bias, which comes to the same: -inf plus a bias is -inf.
bool edit_logits(std::span<float> logits, const SamplerState& state, std::int32_t output_idx,
                 SamplerScratch& scratch);

// Puts back what edit_logits changed.
void restore_logits(std::span<float> logits, SamplerScratch& scratch);

}  // namespace tvllm::sampling
