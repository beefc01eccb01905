// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.h"
#include "core/sampling_params.h"
#include "sampling/row_math.h"
#include "sampling/scratch.h"

namespace tvllm::sampling {

// The tokens that a draw may pick, ids ascending, each with a weight in [0, 1] in proportion to its
// probability; the best token weighs 1. Views into a scratch.
struct Candidates {
  std::span<const TokenId> ids;  // empty: the whole vocabulary, id = index
  std::span<const float> weights;

  TokenId id_at(std::size_t idx) const {
    return ids.empty() ? static_cast<TokenId>(idx) : ids[idx];
  }
};

// Softmax at params.temperature, cut by min_p, top_k and top_p in the order of vLLM
// (vllm/v1/sample/sampler.py): min_p drops what is less probable than min_p times the best; top_k
// keeps the k best of the rest; top_p keeps the smallest set of the best whose share of what is
// left reaches top_p, the token that crosses it included. At least one token is always kept.
//
// Where tokens are equally probable, those with lower ids are kept. (vLLM keeps *all* that tie with
// the k-th; here k tokens are k tokens.) top_k and min_p both keep the best, so their order does
// not matter and top_k comes first here: it spares exponentials.
//
// REQUIRES: normalized parameters, not greedy; `stats` of `logits` is valid; scratch reserved
Candidates truncate(std::span<const float> logits, const RowStats& stats,
                    const SamplingParams& params, SamplerScratch& scratch);

}  // namespace tvllm::sampling
