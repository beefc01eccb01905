// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler_state.h"

#include <algorithm>
#include <utility>

namespace tvllm::sampling {

void SamplerState::begin(std::shared_ptr<const Request> request,
                         std::span<const TokenId> eos_token_ids,
                         std::span<const TokenId> known_token_ids, std::int32_t vocab_size) {
  request_ = std::move(request);
  vocab_size_ = vocab_size;
  const SamplingParams& p = params();

  min_tokens_mask_.clear();
  if (p.min_tokens > 0) {
    min_tokens_mask_.assign(eos_token_ids.begin(), eos_token_ids.end());
    min_tokens_mask_.insert(min_tokens_mask_.end(), p.stop_token_ids.begin(),
                            p.stop_token_ids.end());
    std::sort(min_tokens_mask_.begin(), min_tokens_mask_.end());
    min_tokens_mask_.erase(std::unique(min_tokens_mask_.begin(), min_tokens_mask_.end()),
                           min_tokens_mask_.end());
  }

  penalties_ = {p.repetition_penalty, p.frequency_penalty, p.presence_penalty};
  if (!penalties_.any()) {
    counts_.reset(0);
    return;
  }
  const std::size_t num_tokens =
      request_->prompt_token_ids.size() + static_cast<std::size_t>(p.max_tokens);
  counts_.reset(std::min(num_tokens, static_cast<std::size_t>(vocab_size)));
  const std::size_t prompt_len =
      std::min(request_->prompt_token_ids.size(), known_token_ids.size());
  if (penalties_.repetition != 1.0f) {
    for (const TokenId id : known_token_ids.first(prompt_len)) {
      if (id >= 0 && id < vocab_size_) counts_.add_prompt(id);
    }
  }
  for (const TokenId id : known_token_ids.subspan(prompt_len))
    append(id);
}

void SamplerState::append(TokenId token_id) {
  if (penalties_.any() && token_id >= 0 && token_id < vocab_size_) counts_.add_output(token_id);
}

}  // namespace tvllm::sampling
