// SPDX-License-Identifier: Apache-2.0
// What the requests of a benchmark ask: vLLM's data sets of the same names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace tvllm::tokenizer {
class Tokenizer;
}

namespace tvllm::bench {

struct BenchPrompt {
  std::string text;
  std::vector<TokenId> token_ids = {};  // of `text`; empty where there is no tokenizer
  std::int32_t num_tokens = 0;          // then the number of words
  std::int32_t num_output_tokens = 0;
};

// Names and defaults are those of `vllm bench`.
struct PromptOptions {
  std::string dataset_name = "random";  // or "sharegpt", "prefix_repetition"
  std::string dataset_path = {};
  std::int32_t num_prompts = 1000;
  std::uint64_t seed = 0;
  // For whatever data set, over its own.
  std::optional<std::int32_t> input_len = {};
  std::optional<std::int32_t> output_len = {};

  // Lengths in [len * (1 - ratio), len * (1 + ratio)], behind a prefix that all share.
  std::int32_t random_input_len = 1024;
  std::int32_t random_output_len = 128;
  double random_range_ratio = 0.0;
  std::int32_t random_prefix_len = 0;

  std::optional<std::int32_t> sharegpt_output_len = {};  // else the length of the file's answer
  bool disable_shuffle = false;
  bool no_oversample = false;

  // num_prompts / num_prefixes prompts begin with each prefix.
  std::int32_t prefix_repetition_prefix_len = 256;
  std::int32_t prefix_repetition_suffix_len = 256;
  std::int32_t prefix_repetition_num_prefixes = 10;
  std::int32_t prefix_repetition_output_len = 128;
};

// Without a tokenizer prompts are that many common words, and a data set from a file is refused.
Result<std::vector<BenchPrompt>> make_prompts(const PromptOptions& options,
                                              const tokenizer::Tokenizer* tokenizer);

}  // namespace tvllm::bench
