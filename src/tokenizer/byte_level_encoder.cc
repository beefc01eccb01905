// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_level_encoder.h"

#include <algorithm>
#include <cstddef>

namespace tvllm::tokenizer {

void ByteLevelEncoder::encode(std::string_view text, std::vector<TokenId>& out) const {
  Bpe::Scratch scratch;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(word_end(pattern_, text, begin), begin + Bpe::kMaxWordBytes);
    bpe_.encode_word(text.substr(begin, end - begin), scratch, out);
    begin = end;
  }
}

}  // namespace tvllm::tokenizer
