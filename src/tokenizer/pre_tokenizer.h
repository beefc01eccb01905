// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers cut text into words; merges happen inside a word only. A file names its
// pre-tokenizer; several names mean the same pattern. The patterns are regular expressions in HF
// files and hand-written scanners here: one pass, no backtracking, equal results.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tvllm::tokenizer {

enum class WordPattern {
  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kGpt2,
  // HF's Sequence[Digits(individual_digits), ByteLevel]: each number on its own first, then kGpt2
  // between them, for which a number is the end of the text.
  kSmollm,
  // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
  // \s*[\r\n]+|\s+(?!\S)|\s+
  kLlama3,
  // The same with \p{N} for \p{N}{1,3}.
  kQwen2,
};

struct PreTokenizer {
  WordPattern pattern = WordPattern::kGpt2;
  // A whole word that is in the vocabulary is that token, whatever the merges say.
  bool ignore_merges = false;
};

// By the name in the file (GGUF's tokenizer.ggml.pre); nothing if it is not known.
std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name);

// "gpt-2, phi-2, ...": for error sentences.
std::string known_pre_tokenizers();

// The end of the word that begins at `begin`. Words follow each other without gaps. Bytes that are
// not UTF-8 are taken as U+FFFD, a symbol, one for each maximal invalid part.
// REQUIRES: begin < text.size(). Thread-safe: a pure function.
std::size_t word_end(WordPattern pattern, std::string_view text, std::size_t begin);

}  // namespace tvllm::tokenizer
