// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/sampling_params.h"

namespace tvllm::server {

class JsonReader;

// What one request may ask for. Past a limit the answer is a 400 that says the limit.
struct RequestLimits {
  std::int64_t max_n = 128;
  std::int32_t max_logprobs = 20;  // kAllLogprobs: no limit
  std::size_t max_stop_token_ids = 1024;
  std::size_t max_logit_bias = 1024;
  bool allow_priority = false;  // under --scheduling-policy priority
  bool trust_request_chat_template = false;
};

// The members that a chat and a completion request share: vLLM's names and meanings, nothing where
// the request says nothing. Types are checked here, ranges by normalize_sampling_params later, when
// the model's defaults are in.
struct GenerationFields {
  std::string model;  // empty: the served one

  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::int64_t> top_k;
  std::optional<double> min_p;
  std::optional<double> presence_penalty;
  std::optional<double> frequency_penalty;
  std::optional<double> repetition_penalty;
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::optional<std::int64_t> seed;
  std::int64_t n = 1;

  std::optional<std::int64_t> max_tokens;
  std::string max_tokens_param = "max_tokens";  // the member it came from
  std::optional<std::int64_t> min_tokens;
  bool ignore_eos = false;
  std::vector<std::string> stop;
  std::vector<TokenId> stop_token_ids;
  bool include_stop_str_in_output = false;
  bool skip_special_tokens = true;

  std::optional<std::int64_t> num_logprobs;  // `logprobs`, or chat's `top_logprobs`
  std::optional<std::int64_t> num_prompt_logprobs;

  bool stream = false;
  bool include_usage = false;
  bool continuous_usage_stats = false;
  bool echo = false;
  bool return_tokens_as_token_ids = false;
  bool return_token_ids = false;

  std::optional<bool> add_special_tokens;
  std::optional<std::int64_t> truncate_prompt_tokens;  // -1: to the model's length
  bool truncate_at_the_right = false;

  std::int32_t priority = 0;
  std::string cache_salt;
  std::string request_id;
};

// Reads them, and refuses by name what this server does not do and what would change the answer if
// it were passed over.
void read_generation_fields(JsonReader& reader, const RequestLimits& limits,
                            GenerationFields& fields);

}  // namespace tvllm::server
