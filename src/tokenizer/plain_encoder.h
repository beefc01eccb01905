// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/ids.h"

namespace tvllm::tokenizer {

// How a kind of vocabulary turns text without added tokens into tokens. Owned by Tokenizer.
// Immutable, thread-safe.
class PlainEncoder {
 public:
  virtual ~PlainEncoder() = default;

  // Appends the tokens of `text`, in time n log n.
  virtual void encode(std::string_view text, std::vector<TokenId>& out) const = 0;
};

}  // namespace tvllm::tokenizer
