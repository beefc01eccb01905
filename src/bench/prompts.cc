// SPDX-License-Identifier: Apache-2.0
#include "bench/prompts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "bench/share_gpt.h"
#include "bench/word_source.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::bench {

namespace {

// vLLM's bounds of what it takes from a file.
constexpr std::size_t kLeastTokens = 4;
constexpr std::size_t kMaxPromptTokens = 1024;
constexpr std::size_t kMaxTotalTokens = 2048;

struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

Range range_around(std::int32_t len, double ratio) {
  return {static_cast<std::int64_t>(std::floor(len * (1.0 - ratio))),
          static_cast<std::int64_t>(std::ceil(len * (1.0 + ratio)))};
}

Result<std::vector<BenchPrompt>> random_prompts(const PromptOptions& options, WordSource& words) {
  const std::int32_t input_len = options.input_len.value_or(options.random_input_len);
  const std::int32_t output_len = options.output_len.value_or(options.random_output_len);
  const Range inputs = range_around(input_len, options.random_range_ratio);
  const Range outputs = range_around(output_len, options.random_range_ratio);
  if (inputs.low + options.random_prefix_len < 1) {
    return invalid_argument(str_cat("--random-input-len ", input_len, " with --random-range-ratio ",
                                    options.random_range_ratio, " gives prompts without a token"),
                            "random-input-len");
  }
  const std::string prefix =
      options.random_prefix_len > 0 ? words.make_prompt({}, options.random_prefix_len).text : "";
  std::vector<BenchPrompt> prompts;
  for (std::int32_t i = 0; i < options.num_prompts; ++i) {
    const std::int64_t num_tokens = words.random().uniform_int(inputs.low, inputs.high);
    const std::int64_t num_output = words.random().uniform_int(
        std::max<std::int64_t>(outputs.low, 1), std::max<std::int64_t>(outputs.high, 1));
    prompts.push_back(words.make_prompt(
        prefix, static_cast<std::int32_t>(options.random_prefix_len + num_tokens)));
    prompts.back().num_output_tokens = static_cast<std::int32_t>(num_output);
  }
  return prompts;
}

Result<std::vector<BenchPrompt>> prefix_repetition_prompts(const PromptOptions& options,
                                                           WordSource& words) {
  const std::int32_t num_prefixes = options.prefix_repetition_num_prefixes;
  const std::int32_t num_per_prefix = options.num_prompts / num_prefixes;
  if (num_per_prefix == 0) {
    return invalid_argument(
        str_cat("--num-prompts ", options.num_prompts,
                " must be at least --prefix-repetition-num-prefixes ", num_prefixes),
        "num-prompts");
  }
  std::vector<BenchPrompt> prompts;
  for (std::int32_t i = 0; i < num_prefixes; ++i) {
    const std::string prefix = words.make_prompt({}, options.prefix_repetition_prefix_len).text;
    for (std::int32_t j = 0; j < num_per_prefix; ++j) {
      prompts.push_back(words.make_prompt(
          prefix, options.prefix_repetition_prefix_len + options.prefix_repetition_suffix_len));
      prompts.back().num_output_tokens =
          options.output_len.value_or(options.prefix_repetition_output_len);
    }
  }
  if (!options.disable_shuffle) words.random().shuffle(prompts);
  return prompts;
}

Result<std::vector<BenchPrompt>> share_gpt_prompts(const PromptOptions& options,
                                                   const tokenizer::Tokenizer& tokenizer,
                                                   RandomSource& random) {
  if (options.dataset_path.empty()) {
    return invalid_argument("--dataset-name sharegpt needs --dataset-path, a file of its form",
                            "dataset-path");
  }
  TVLLM_TRY(std::vector<Conversation> conversations, read_share_gpt(options.dataset_path));
  if (!options.disable_shuffle) random.shuffle(conversations);
  const std::optional<std::int32_t> output_len =
      options.output_len ? options.output_len : options.sharegpt_output_len;
  const auto wanted = static_cast<std::size_t>(options.num_prompts);
  std::vector<BenchPrompt> prompts;
  for (Conversation& conversation : conversations) {
    if (prompts.size() == wanted) break;
    BenchPrompt prompt{.text = std::move(conversation.question)};
    prompt.token_ids = tokenizer.encode(prompt.text);
    const std::size_t num_tokens = prompt.token_ids.size();
    const std::size_t num_output = output_len ? static_cast<std::size_t>(*output_len)
                                              : tokenizer.encode(conversation.answer).size();
    if (num_tokens < kLeastTokens || (!output_len && num_output < kLeastTokens) ||
        num_tokens > kMaxPromptTokens || num_tokens + num_output > kMaxTotalTokens) {
      continue;
    }
    prompt.num_tokens = static_cast<std::int32_t>(num_tokens);
    prompt.num_output_tokens = static_cast<std::int32_t>(num_output);
    prompts.push_back(std::move(prompt));
  }
  if (prompts.empty()) {
    return invalid_argument(
        str_cat(quoted(options.dataset_path), ": no conversation has a prompt of ", kLeastTokens,
                " to ", kMaxPromptTokens, " tokens and, with its answer, at most ",
                kMaxTotalTokens),
        "dataset-path");
  }
  if (options.no_oversample) return prompts;
  const std::size_t num_different = prompts.size();
  while (prompts.size() < wanted) {
    const auto last = static_cast<std::int64_t>(num_different) - 1;
    const auto again = static_cast<std::size_t>(random.uniform_int(0, last));
    prompts.push_back(BenchPrompt(prompts[again]));
  }
  return prompts;
}

}  // namespace

Result<std::vector<BenchPrompt>> make_prompts(const PromptOptions& options,
                                              const tokenizer::Tokenizer* tokenizer) {
  if (options.dataset_name == "sharegpt") {
    if (tokenizer == nullptr) {
      return invalid_argument(
          "--dataset-name sharegpt needs --tokenizer, a GGUF file: answers are as long as the "
          "file's",
          "tokenizer");
    }
    RandomSource random(options.seed);
    return share_gpt_prompts(options, *tokenizer, random);
  }
  if (!options.dataset_path.empty()) {
    return invalid_argument(
        str_cat("--dataset-path is for --dataset-name sharegpt, not for ", options.dataset_name),
        "dataset-path");
  }
  WordSource words(tokenizer, options.seed);
  return options.dataset_name == "random" ? random_prompts(options, words)
                                          : prefix_repetition_prompts(options, words);
}

}  // namespace tvllm::bench
