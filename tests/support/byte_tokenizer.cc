// SPDX-License-Identifier: Apache-2.0
#include "tests/support/byte_tokenizer.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "tokenizer/byte_alphabet.h"

namespace tvllm::testing {

std::unique_ptr<tokenizer::Tokenizer> make_byte_tokenizer(std::string_view missing) {
  TokenizerData data;
  data.model = "gpt2";
  data.pre_tokenizer = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_missing = missing.find(static_cast<char>(byte)) != std::string_view::npos;
    data.tokens.push_back(is_missing
                              ? "unused" + std::to_string(byte)
                              : tokenizer::byte_to_alphabet(static_cast<std::uint8_t>(byte)));
    data.token_types.push_back(TokenType::kNormal);
  }
  for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    data.tokens.emplace_back(text);
    data.token_types.push_back(TokenType::kControl);
  }
  data.bos_token_id = kEndOfText;
  data.eos_token_id = kEndOfText;
  auto made = tokenizer::Tokenizer::create(std::move(data));
  TVLLM_CHECK(made.has_value(), made.error().message);
  return std::move(*made);
}

std::vector<TokenId> byte_tokens(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char c : text)
    ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

}  // namespace tvllm::testing
