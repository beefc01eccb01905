// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace tvllm {

inline constexpr float kGreedyTemperature = 1e-5f;  // below it a request is greedy, as in vLLM
inline constexpr float kMinTemperature = 0.01f;     // between the two it is raised to this
inline constexpr std::int32_t kAllLogprobs = -1;    // "the whole vocabulary"

// How one choice of a request picks its tokens. Names and meanings are vLLM's. A value.
struct SamplingParams {
  float temperature = 1.0f;
  float top_p = 1.0f;
  std::int32_t top_k = 0;  // 0 = off
  float min_p = 0.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  float repetition_penalty = 1.0f;
  std::vector<std::pair<TokenId, float>> logit_bias;  // distinct ids, each clamped to +-100

  std::uint64_t seed = 0;          // always set: fresh entropy where the client gave none
  std::uint32_t choice_index = 0;  // which of `n`; part of the random key

  std::int32_t max_tokens = 16;  // output tokens, >= 1
  std::int32_t min_tokens = 0;   // EOS and stop ids are masked before
  bool ignore_eos = false;
  std::vector<TokenId> stop_token_ids;  // beyond the model's EOS ids

  // Log-probabilities of the raw distribution (before temperature, penalties and bias): nothing,
  // or the chosen token plus this many best ones (0 = chosen only).
  std::optional<std::int32_t> num_logprobs;
  std::optional<std::int32_t> num_prompt_logprobs;

  bool is_greedy() const { return temperature < kGreedyTemperature; }
};

// Checks every range (REFERENCE: SamplingParams._verify_args of vLLM) and brings the parameters to
// their effective form: greedy turns top_p, top_k and min_p off, a tiny temperature is raised,
// top_k is clamped to the vocabulary. `error.param` names the field. `max_logprobs` is the server's
// limit on both kinds of log-probabilities.
Status normalize_sampling_params(SamplingParams& params, std::int32_t vocab_size,
                                 std::int32_t max_logprobs);

}  // namespace tvllm
