// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "core/sampling_params.h"
#include "core/token_event.h"

namespace tvllm::scheduler {

struct StopDecision {
  FinishReason reason = FinishReason::kNone;  // kNone: the sequence goes on
  // The id of `stop_token_ids` that ended it; nothing for EOS or a length.
  std::optional<TokenId> stop_token_id;

  friend bool operator==(const StopDecision&, const StopDecision&) = default;
};

// The most output tokens that a request can get: its own limit or what its prompt leaves of the
// model's length. REQUIRES: num_prompt_tokens < max_model_len
std::int32_t max_output_tokens(const SamplingParams& params, std::int32_t num_prompt_tokens,
                               std::int32_t max_model_len);

// Whether a sequence ends with `token_id`, its newest token and the num_output_tokens-th of its
// outputs. An EOS or stop token on the last allowed place counts as a stop. Before min_tokens only
// the length ends a sequence. Stop strings need text, so the client's side matches them and
// cancels.
//
// A pure function.
StopDecision check_stop(const SamplingParams& params, std::span<const TokenId> eos_token_ids,
                        TokenId token_id, std::int32_t num_output_tokens,
                        std::int32_t max_output_tokens);

}  // namespace tvllm::scheduler
