// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tokenizer/plain_encoder.h"
#include "tokenizer/token_index.h"
#include "tokenizer/vocabulary.h"

namespace tvllm::tokenizer {

// BPE as SentencePiece does it (Llama 2, Gemma): the characters of the text are pieces, and while
// two neighbours together are a piece of the vocabulary, the two whose union has the highest score
// are merged, the leftmost first. A character that ends up as no piece becomes the tokens of its
// bytes.
//
//   " tokens"  ->  ' ' t o k e n s  ->  ' ' to k en s  ->  ...  ->  " tokens"
//
// Pieces write a blank as U+2581; the vocabulary has translated it, so that text is merged as it
// is. U+2581 in the text is a blank too.
//
// Invariants: (1) n bytes take O(n log n) time and O(n) memory, without recursion; (2) only kNormal
// and kByte tokens come out, and the unknown token where there is no other, so that text cannot
// spell a control token.
class SentencePiece final : public PlainEncoder {
 public:
  // `scores` by TokenId. `vocabulary` outlives this.
  static Result<SentencePiece> create(const Vocabulary& vocabulary, std::span<const float> scores,
                                      std::optional<TokenId> unknown_token_id);

  void encode(std::string_view text, std::vector<TokenId>& out) const override;

 private:
  struct Scratch;

  // Up to so many characters the search for the best pair is a loop over an array; over it a heap
  // and a list.
  static constexpr std::size_t kMaxShortWord = 32;
  // A longer stretch without a place to cut is cut all the same: 4 MiB is more than a context
  // window holds.
  static constexpr std::size_t kMaxWordBytes = std::size_t{1} << 22;

  SentencePiece(const Vocabulary& vocabulary, std::span<const float> scores,
                std::optional<TokenId> unknown_token_id);

  std::size_t word_end(std::string_view text, std::size_t begin) const;
  void encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void merge_short_word(std::string_view word, std::vector<TokenId>& out) const;
  void merge_long_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void push_candidate(std::string_view word, Scratch& scratch, std::uint32_t left) const;

  std::uint32_t rank_of(std::string_view piece) const;
  void append_piece(std::string_view piece, std::vector<TokenId>& out) const;

  const Vocabulary* vocabulary_;
  std::vector<std::uint32_t> ranks_;  // by TokenId: the higher the score, the lower
  TokenIndex pieces_;                 // kNormal tokens by their bytes
  std::size_t max_piece_bytes_ = 0;
  std::vector<TokenId> byte_tokens_;  // [256], kNoToken where there is none
  std::optional<TokenId> unknown_token_id_;
  // Bytes that some piece has before a blank. Behind any other byte no merge crosses the place
  // before a blank, so that text can be cut there into words.
  std::bitset<256> before_blank_;
};

}  // namespace tvllm::tokenizer
