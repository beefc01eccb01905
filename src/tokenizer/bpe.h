// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tokenizer/merge_ranks.h"
#include "tokenizer/token_index.h"
#include "tokenizer/vocabulary.h"

namespace tvllm::tokenizer {

// Byte-pair encoding of one word: its bytes become tokens, and while neighbours can be merged, the
// pair of the lowest rank is, the leftmost first. Owned by Tokenizer. Immutable, thread-safe.
//
// Invariants: (1) a word of n bytes takes O(n log n) time and O(n) memory, whatever it is, without
// recursion; (2) no merge makes a control token, so that text cannot spell one.
class Bpe {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // `merges` by rank; of a pair that stands twice the last rank counts, as in HF. `ignore_merges`:
  // a word that is a token is that token. `vocabulary` outlives this.
  static Result<Bpe> create(const Vocabulary& vocabulary, const Merges& merges, bool ignore_merges);

  // Memory that the calls of one thread hand on to each other.
  class Scratch {
    friend class Bpe;
    struct Symbol {
      TokenId id;          // kNoToken once merged into its left neighbour
      std::uint32_t prev;  // indices of symbols, kNowhere at the ends
      std::uint32_t next;
    };
    std::vector<Symbol> symbols_;
    // A heap of pairs that could be merged: rank, then index of the left symbol, the lowest on top.
    // A pair is not taken out when a merge beside it consumes a part; it is found stale on top.
    std::vector<std::uint64_t> candidates_;
  };

  // Longer words are for the caller to cut: 4 MiB is more than a context window holds.
  static constexpr std::size_t kMaxWordBytes = std::size_t{1} << 22;

  // Appends the tokens of `word`. A byte that has no token is left out before merging, as HF does.
  // REQUIRES: word.size() <= kMaxWordBytes
  void encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  struct Rule {
    TokenId left;
    TokenId right;
    TokenId merged;
  };

  // Up to here the search for the lowest rank is a loop over an array; over it a heap and a list.
  static constexpr std::size_t kMaxShortWord = 32;

  Bpe(const Vocabulary& vocabulary, std::size_t num_merges);

  Status add_merges(const Merges& merges);
  void add_whole_words(bool ignore_merges);
  std::string_view bytes_of(TokenId id) const { return vocabulary_->bytes(id); }

  // Appends the tokens of `word` by merging alone.
  void merge_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void merge_short_word(std::string_view word, std::vector<TokenId>& out) const;
  void merge_long_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void split_into_bytes(std::string_view word, Scratch& scratch) const;
  void push_candidate(Scratch& scratch, std::uint32_t left) const;

  const Vocabulary* vocabulary_;
  std::array<TokenId, 256> byte_tokens_{};
  std::vector<Rule> rules_;  // by rank
  MergeRanks ranks_;
  // By their bytes, the tokens that a word may be as a whole: most words of a text are.
  TokenIndex whole_words_;
};

}  // namespace tvllm::tokenizer
