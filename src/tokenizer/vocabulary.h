// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/tokenizer_data.h"
#include "tokenizer/token_index.h"

namespace tvllm::tokenizer {

// How a file writes the bytes of a token as text.
enum class TokenWriting {
  kByteAlphabet,   // of GPT-2 (byte_alphabet.h): "\u0120the" is " the"
  kSentencePiece,  // U+2581 for a blank, kByte tokens as "<0x0A>"
};

// SentencePiece's blank, U+2581.
inline constexpr std::string_view kEscapedBlank = "\xE2\x96\x81";

// `text` with blanks for U+2581.
std::string unescape_blanks(std::string_view text);

// The tokens of a model: their text as the file has it, the bytes they stand for and what they are
// for. Owned by Tokenizer. Immutable, thread-safe.
//
// Invariant: views that text() and bytes() return stay valid while the vocabulary lives, also when
// it is moved.
class Vocabulary {
 public:
  // `types` is as long as `texts`. A text that stands twice belongs to its lowest id.
  static Result<std::unique_ptr<const Vocabulary>> create(
      std::vector<std::string> texts, std::vector<TokenType> types,
      TokenWriting writing = TokenWriting::kByteAlphabet);

  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  TokenId size() const { return static_cast<TokenId>(texts_.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }

  // REQUIRES, for what follows: contains(id)

  std::string_view text(TokenId id) const { return texts_[index(id)]; }
  // Of a special token, and of one that is not written as the others are, these are the bytes of
  // its text. Of a user-defined one too, but for SentencePiece's blanks.
  std::string_view bytes(TokenId id) const {
    return {bytes_.data() + byte_begins_[index(id)],
            byte_begins_[index(id) + 1] - byte_begins_[index(id)]};
  }
  TokenType type(TokenId id) const { return types_[index(id)]; }

  // Steers the model instead of standing for text: kControl, and kUnknown, which HF files mark as
  // special too.
  bool is_special(TokenId id) const {
    return type(id) == TokenType::kControl || type(id) == TokenType::kUnknown;
  }
  // Found in text as a whole, before pre-tokenization.
  bool is_added(TokenId id) const { return is_special(id) || type(id) == TokenType::kUserDefined; }
  // bytes() were translated from the byte alphabet.
  bool is_byte_level(TokenId id) const { return byte_level_[index(id)]; }

  std::optional<TokenId> find(std::string_view text) const;

 private:
  Vocabulary(std::vector<std::string> texts, std::vector<TokenType> types, TokenWriting writing);
  static std::size_t index(TokenId id) { return static_cast<std::size_t>(id); }

  std::vector<std::string> texts_;
  std::vector<TokenType> types_;
  std::vector<char> bytes_;  // of all tokens, one after the other
  std::vector<std::size_t> byte_begins_;
  std::vector<bool> byte_level_;
  TokenIndex by_text_;
};

}  // namespace tvllm::tokenizer
