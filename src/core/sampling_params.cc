// SPDX-License-Identifier: Apache-2.0
#include "core/sampling_params.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/strings.h"

namespace tvllm {

namespace {

// "top_p must be in (0, 1], got 1.5"
template <typename T>
Error out_of_range(const char* field, const char* range, T got) {
  return invalid_argument(str_cat(field, " must be ", range, ", got ", got), field);
}

Status check_logprobs(std::optional<std::int32_t> count, const char* field,
                      std::int32_t max_logprobs) {
  if (!count) return {};
  if (*count == kAllLogprobs) {
    if (max_logprobs == kAllLogprobs) return {};
    return invalid_argument(
        str_cat(field, " asks for the whole vocabulary; the server allows at most ", max_logprobs),
        field);
  }
  if (*count < 0) return out_of_range(field, "at least 0", *count);
  if (max_logprobs != kAllLogprobs && *count > max_logprobs) {
    return invalid_argument(str_cat(field, " must be at most ", max_logprobs, ", got ", *count),
                            field);
  }
  return {};
}

Status check_token_id(TokenId id, std::int32_t vocab_size, const char* field) {
  if (id >= 0 && id < vocab_size) return {};
  return invalid_argument(
      str_cat(field, " holds token id ", id, ", outside the vocabulary 0..", vocab_size - 1),
      field);
}

}  // namespace

Status normalize_sampling_params(SamplingParams& params, std::int32_t vocab_size,
                                 std::int32_t max_logprobs) {
  const auto within = [](float value, float low, float high) {
    return std::isfinite(value) && value >= low && value <= high;
  };
  SamplingParams& p = params;
  if (!within(p.temperature, 0, 2)) return out_of_range("temperature", "in [0, 2]", p.temperature);
  if (!within(p.top_p, 0, 1) || p.top_p == 0) return out_of_range("top_p", "in (0, 1]", p.top_p);
  if (p.top_k < -1) return out_of_range("top_k", "-1 or 0 (off) or a positive integer", p.top_k);
  if (!within(p.min_p, 0, 1)) return out_of_range("min_p", "in [0, 1]", p.min_p);
  if (!within(p.presence_penalty, -2, 2)) {
    return out_of_range("presence_penalty", "in [-2, 2]", p.presence_penalty);
  }
  if (!within(p.frequency_penalty, -2, 2)) {
    return out_of_range("frequency_penalty", "in [-2, 2]", p.frequency_penalty);
  }
  if (!std::isfinite(p.repetition_penalty) || p.repetition_penalty <= 0) {
    return out_of_range("repetition_penalty", "a finite number above 0", p.repetition_penalty);
  }
  if (p.max_tokens < 1) return out_of_range("max_tokens", "at least 1", p.max_tokens);
  if (p.min_tokens < 0) return out_of_range("min_tokens", "at least 0", p.min_tokens);
  if (p.min_tokens > p.max_tokens) {
    return invalid_argument(str_cat("min_tokens (", p.min_tokens,
                                    ") must not be greater than max_tokens (", p.max_tokens, ")"),
                            "min_tokens");
  }
  for (auto& [id, bias] : p.logit_bias) {
    TVLLM_RETURN_IF_ERROR(check_token_id(id, vocab_size, "logit_bias"));
    if (!std::isfinite(bias)) {
      return invalid_argument(str_cat("logit_bias of token ", id, " must be a finite number"),
                              "logit_bias");
    }
    bias = std::clamp(bias, -100.0f, 100.0f);
  }
  for (const TokenId id : p.stop_token_ids) {
    TVLLM_RETURN_IF_ERROR(check_token_id(id, vocab_size, "stop_token_ids"));
  }
  TVLLM_RETURN_IF_ERROR(check_logprobs(p.num_logprobs, "logprobs", max_logprobs));
  TVLLM_RETURN_IF_ERROR(check_logprobs(p.num_prompt_logprobs, "prompt_logprobs", max_logprobs));

  if (p.top_k < 0 || p.top_k >= vocab_size) p.top_k = 0;
  if (p.is_greedy()) {
    p.temperature = 0;
    p.top_p = 1;
    p.top_k = 0;
    p.min_p = 0;
  } else {
    p.temperature = std::max(p.temperature, kMinTemperature);
  }
  return {};
}

}  // namespace tvllm
