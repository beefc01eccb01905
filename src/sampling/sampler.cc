// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.h"

#include "sampling/logits_pipeline.h"
#include "sampling/logprobs.h"
#include "sampling/random_draw.h"
#include "sampling/row_math.h"
#include "sampling/truncation.h"

namespace tvllm::sampling {

namespace {

TokenId pick(std::span<const float> logits, const RowStats& stats, const SamplingParams& params,
             std::int32_t output_idx, SamplerScratch& scratch) {
  if (params.is_greedy()) return stats.argmax;
  const Candidates candidates = truncate(logits, stats, params, scratch);
  const double uniform = uniform_at(params.seed, params.choice_index, output_idx);
  return candidates.id_at(draw_index(candidates.weights, uniform, scratch.block_sums));
}

}  // namespace

SampledToken sample(std::span<float> logits, const SamplerState& state, std::int32_t output_idx,
                    SamplerScratch& scratch) {
  const SamplingParams& params = state.params();
  SampledToken out;
  scratch.reserve(logits.size());
  RowStats stats = scan_row(logits);
  if (stats.is_valid()) {
    const bool edited = edit_logits(logits, state, output_idx, scratch);
    if (edited) stats = scan_row(logits);
    if (stats.is_valid()) out.token_id = pick(logits, stats, params, output_idx, scratch);
    if (edited) restore_logits(logits, scratch);
  }
  if (out.token_id == kNoToken) {
    out.error = SequenceError::kInvalidLogits;
    return out;
  }
  if (params.num_logprobs) {
    out.has_logprobs = true;
    out.logprobs = position_logprobs(logits, out.token_id, *params.num_logprobs, scratch);
  }
  return out;
}

}  // namespace tvllm::sampling
