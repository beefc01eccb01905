// SPDX-License-Identifier: Apache-2.0
#include "cli/prompt_flags.h"

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/help_formatter.h"

namespace tvllm::cli {

namespace {

// Prompts longer than that are a slip of the finger.
constexpr std::int32_t kMaxLen = 1 << 24;

// 1.0 would give prompts without a token.
constexpr double kMaxRatio = 0.999;

}  // namespace

void add_prompt_flags(CLI::App& app, bench::PromptOptions& options) {
  const char* const kPrompts = "Prompts";
  const auto add_len = [&](const char* names, std::int32_t& value, std::int32_t low,
                           const char* help) {
    app.add_option(names, value, help)
        ->check(in_range(low, kMaxLen))
        ->capture_default_str()
        ->group(kPrompts);
  };
  app.add_option("--dataset-name", options.dataset_name,
                 "'random' words, 'prefix_repetition' of random words behind shared prefixes, or "
                 "'sharegpt', a file of conversations")
      ->check(CLI::IsMember({"random", "sharegpt", "prefix_repetition"}))
      ->capture_default_str()
      ->group(kPrompts);
  app.add_option("--dataset-path", options.dataset_path, "File of 'sharegpt'")->group(kPrompts);
  add_len("--num-prompts", options.num_prompts, 1, "Requests");
  app.add_option("--seed", options.seed,
                 "Of prompts and arrivals. The same again finds its prompts in a prefix cache")
      ->capture_default_str()
      ->group(kPrompts);
  app.add_option("--input-len", options.input_len, "Tokens of a prompt: --random-input-len")
      ->check(in_range(1, kMaxLen))
      ->group(kPrompts);
  app.add_option("--output-len", options.output_len, "Tokens of an answer, of whatever data set")
      ->check(in_range(1, kMaxLen))
      ->group(kPrompts);
  add_len("--random-input-len", options.random_input_len, 0, "Tokens of a random prompt");
  add_len("--random-output-len", options.random_output_len, 1, "Tokens of the answer to it");
  app.add_option("--random-range-ratio", options.random_range_ratio,
                 "Draw both lengths from length * (1 - ratio) to length * (1 + ratio)")
      ->check(in_range(0.0, kMaxRatio))
      ->capture_default_str()
      ->group(kPrompts);
  add_len("--random-prefix-len,--prefix-len", options.random_prefix_len, 0,
          "Tokens in front of every random prompt, the same ones");
  app.add_option("--sharegpt-output-len", options.sharegpt_output_len,
                 "Tokens of an answer [as long as the file's]")
      ->check(in_range(1, kMaxLen))
      ->group(kPrompts);
  app.add_flag("--disable-shuffle", options.disable_shuffle, "Keep the order of the file")
      ->group(kPrompts);
  app.add_flag("--no-oversample", options.no_oversample,
               "Use no conversation twice, even if there are fewer than --num-prompts")
      ->group(kPrompts);
  add_len("--prefix-repetition-prefix-len", options.prefix_repetition_prefix_len, 1,
          "Tokens of a shared prefix");
  add_len("--prefix-repetition-suffix-len", options.prefix_repetition_suffix_len, 1,
          "Tokens behind it");
  add_len("--prefix-repetition-num-prefixes", options.prefix_repetition_num_prefixes, 1,
          "Different prefixes");
  add_len("--prefix-repetition-output-len", options.prefix_repetition_output_len, 1,
          "Tokens of the answer");
}

}  // namespace tvllm::cli
