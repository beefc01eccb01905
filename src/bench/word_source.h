// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/prompts.h"
#include "bench/random_source.h"

namespace tvllm::bench {

// Text of a wanted number of tokens, made of words drawn at random. With a tokenizer the words are
// tokens of its own, so that text of n words has n tokens when a server reads it again; without one
// they are common English words, one or two tokens in most vocabularies. Thread-compatible.
class WordSource {
 public:
  // The tokenizer, where there is one, outlives the source.
  WordSource(const tokenizer::Tokenizer* tokenizer, std::uint64_t seed);

  // A prompt of `num_tokens` tokens, special ones included, that begins with `prefix`.
  BenchPrompt make_prompt(std::string_view prefix, std::int32_t num_tokens);

  RandomSource& random() { return random_; }

 private:
  void append_words(std::string& text, std::int32_t count);

  const tokenizer::Tokenizer* const tokenizer_;
  RandomSource random_;
  std::vector<std::string> words_;  // with the blank before them
};

}  // namespace tvllm::bench
