// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace tvllm {

// What a token of the vocabulary is for; the values are those of GGUF's tokenizer.ggml.token_type.
enum class TokenType : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,  // special: <|im_start|>; matched before pre-tokenization, skipped in output text
  kUserDefined = 4,  // matched before pre-tokenization, shown in output text
  kUnused = 5,
  kByte = 6,
};

// Everything a tokenizer is built from, whatever file it came from. Strings are as in the file:
// for byte-level BPE in GPT-2's byte alphabet, for SentencePiece with U+2581 for a blank.
struct TokenizerData {
  std::string model;                   // "gpt2": byte-level BPE; "llama": SentencePiece's BPE
  std::string pre_tokenizer;           // "smollm", "llama-bpe", "qwen2", "gpt-2", ...
  std::vector<std::string> tokens;     // index = TokenId
  std::vector<TokenType> token_types;  // same length
  std::vector<float> scores;           // same length, or empty; SentencePiece merges by them
  std::vector<std::pair<std::string, std::string>> merges;  // rank = index

  std::optional<TokenId> bos_token_id;
  std::optional<TokenId> eos_token_id;
  std::optional<TokenId> unknown_token_id;
  std::optional<TokenId> padding_token_id;
  bool add_bos_token = false;
  bool add_eos_token = false;
  bool add_space_prefix = false;  // SentencePiece: text begins with a blank that was not written

  std::string chat_template;  // Jinja source, empty if the file has none
};

}  // namespace tvllm
