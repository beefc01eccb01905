// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bpe.h"
#include "tokenizer/plain_encoder.h"
#include "tokenizer/pre_tokenizer.h"

namespace tvllm::tokenizer {

// Byte-level BPE: a pre-tokenizer cuts the text into words, each word's bytes are merged by rank.
class ByteLevelEncoder final : public PlainEncoder {
 public:
  ByteLevelEncoder(Bpe bpe, WordPattern pattern) : bpe_(std::move(bpe)), pattern_(pattern) {}

  void encode(std::string_view text, std::vector<TokenId>& out) const override;

 private:
  const Bpe bpe_;
  const WordPattern pattern_;
};

}  // namespace tvllm::tokenizer
