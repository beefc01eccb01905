// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/tokenizer_data.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/plain_encoder.h"
#include "tokenizer/vocabulary.h"

namespace tvllm::tokenizer {

// Bytes begin .. end - 1 of a text.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct EncodeOptions {
  // BOS in front and EOS behind, each if the file asks for it.
  bool add_special_tokens = true;
  // The text of a control token ("<|im_end|>") is that token. Else all text is plain.
  bool parse_special = true;
  // What a user wrote: text that has a byte in one of these ranges is no control token. In any
  // order.
  std::span<const ByteRange> literal_ranges = {};
};

// Text to tokens and back: byte-level BPE as HF `tokenizers` does it with the same vocabulary, and
// SentencePiece's BPE with byte fallback. Immutable, thread-safe; the composition root owns it and
// it outlives all that hold it.
//
// Text is bytes. encode() takes any: an invalid UTF-8 sequence is split off as the symbol U+FFFD
// would be, but keeps its own bytes. There is no normalization (NFC).
//
// User-defined tokens of SentencePiece stand for text (blank lines, runs of blanks) and are found
// everywhere; those of byte-level BPE ("<tool_call>") are found where control tokens are.
//
// Invariants: (1) the bytes of encode()'s tokens, joined, are the text, except for bytes that the
// vocabulary has no token for, which are left out, for U+2581, which is a blank to SentencePiece,
// and for the blank that add_space_prefix puts in front; (2) with parse_special off or inside a
// literal range no text gives a control token, unless that token is a single byte.
class Tokenizer {
 public:
  // Refuses an unknown model or pre-tokenizer, naming those it knows: with a wrong one the model
  // would answer, only badly.
  static Result<std::unique_ptr<Tokenizer>> create(TokenizerData data);

  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;

  // Valid UTF-8: what is not becomes U+FFFD. The text of Detokenizer (detokenizer.h), at once, but
  // for the blank that add_space_prefix put in front, which is taken off again.
  std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const;

  // Ids 0 .. vocab_size() - 1. A model may have more: its embedding is often padded. Such ids, and
  // negative ones, have empty text and bytes and are not special.
  TokenId vocab_size() const { return vocabulary_->size(); }
  // The bytes that a token stands for; of a control token its text. They may be part of a
  // character.
  std::string_view token_bytes(TokenId id) const;
  // As in the file, that is in the byte alphabet of GPT-2 or with SentencePiece's blanks.
  std::string_view token_text(TokenId id) const;
  // A control token: left out of text by skip_special_tokens.
  bool is_special(TokenId id) const;
  // By token_text.
  std::optional<TokenId> find(std::string_view token_text) const;

  std::optional<TokenId> bos_token_id() const { return bos_token_id_; }
  std::optional<TokenId> eos_token_id() const { return eos_token_id_; }
  std::optional<TokenId> unknown_token_id() const { return unknown_token_id_; }
  std::optional<TokenId> padding_token_id() const { return padding_token_id_; }
  bool adds_bos_token() const { return add_bos_token_; }
  bool adds_eos_token() const { return add_eos_token_; }

 private:
  // A walk through a text, in tokenizer.cc.
  class AddedTokenWalk;

  Tokenizer(std::unique_ptr<const Vocabulary> vocabulary,
            std::unique_ptr<const PlainEncoder> encoder, const TokenizerData& data);

  void encode_text(std::string_view text, const EncodeOptions& options,
                   std::vector<TokenId>& out) const;

  const std::unique_ptr<const Vocabulary> vocabulary_;
  const std::unique_ptr<const PlainEncoder> encoder_;  // refers to *vocabulary_
  const AddedTokens
      special_tokens_;             // found where parse_special allows; keep views of *vocabulary_
  const AddedTokens text_tokens_;  // found everywhere
  const bool add_space_prefix_;
  const std::optional<TokenId> bos_token_id_;
  const std::optional<TokenId> eos_token_id_;
  const std::optional<TokenId> unknown_token_id_;
  const std::optional<TokenId> padding_token_id_;
  const bool add_bos_token_;
  const bool add_eos_token_;
};

}  // namespace tvllm::tokenizer
