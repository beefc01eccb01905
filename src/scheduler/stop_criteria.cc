// SPDX-License-Identifier: Apache-2.0
#include "scheduler/stop_criteria.h"

#include <algorithm>

namespace tvllm::scheduler {

namespace {

// The lists have a handful of entries: walking them beats any set.
bool is_among(TokenId token_id, std::span<const TokenId> ids) {
  return std::find(ids.begin(), ids.end(), token_id) != ids.end();
}

}  // namespace

std::int32_t max_output_tokens(const SamplingParams& params, std::int32_t num_prompt_tokens,
                               std::int32_t max_model_len) {
  return std::min(params.max_tokens, max_model_len - num_prompt_tokens);
}

StopDecision check_stop(const SamplingParams& params, std::span<const TokenId> eos_token_ids,
                        TokenId token_id, std::int32_t num_output_tokens,
                        std::int32_t max_output_tokens) {
  if (num_output_tokens >= params.min_tokens) {
    if (!params.ignore_eos && is_among(token_id, eos_token_ids)) return {FinishReason::kStop, {}};
    if (is_among(token_id, params.stop_token_ids)) return {FinishReason::kStop, token_id};
  }
  if (num_output_tokens >= max_output_tokens) return {FinishReason::kLength, {}};
  return {};
}

}  // namespace tvllm::scheduler
