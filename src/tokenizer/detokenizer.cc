// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/detokenizer.h"

#include <cstddef>
#include <utility>

#include "base/utf8.h"

namespace tvllm::tokenizer {

std::string Detokenizer::push(TokenId id) {
  if (skip_special_tokens_ && tokenizer_->is_special(id)) return {};
  incomplete_ += tokenizer_->token_bytes(id);
  std::string text;
  std::string_view rest = incomplete_;
  while (!rest.empty()) {
    const Utf8Char c = decode_utf8(rest);
    if (c.state == Utf8State::kIncomplete) break;
    const std::size_t num_bytes = static_cast<std::size_t>(c.num_bytes);
    if (c.state == Utf8State::kComplete) {
      text += rest.substr(0, num_bytes);
    } else {
      append_utf8(text, 0xFFFD);
    }
    rest.remove_prefix(num_bytes);
  }
  incomplete_.erase(0, incomplete_.size() - rest.size());
  return text;
}

std::string Detokenizer::flush() {
  return to_valid_utf8(std::exchange(incomplete_, {}));
}

}  // namespace tvllm::tokenizer
