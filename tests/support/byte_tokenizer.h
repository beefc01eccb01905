// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::testing {

// A vocabulary in which a text's tokens are its bytes: token b is byte b, and three control tokens
// follow. So expected ids can be written down by hand.
inline constexpr TokenId kEndOfText = 256;  // <|endoftext|>: BOS and EOS
inline constexpr TokenId kTurnStart = 257;  // <|im_start|>
inline constexpr TokenId kTurnEnd = 258;    // <|im_end|>
inline constexpr TokenId kByteVocabSize = 259;

// The bytes of `missing` have no token, so the tokenizer leaves them out.
std::unique_ptr<tokenizer::Tokenizer> make_byte_tokenizer(std::string_view missing = {});

std::vector<TokenId> byte_tokens(std::string_view text);

}  // namespace tvllm::testing
