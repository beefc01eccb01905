// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tokenizer/merge_ranks.h"
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
  // a word that is a token is that token. Keeps views of the vocabulary's bytes: it outlives this.
  static Result<Bpe> create(const Vocabulary& vocabulary, const Merges& merges, bool ignore_merges);

  // Memory that calls on one thread hand on to each other.
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

  explicit Bpe(std::size_t num_merges) : ranks_(num_merges) {}

  Status add_merges(const Vocabulary& vocabulary, const Merges& merges);
  void add_whole_words(const Vocabulary& vocabulary, bool ignore_merges);

  void merge_word(std::string_view word, Scratch& scratch) const;
  void split_into_bytes(std::string_view word, Scratch& scratch) const;
  void push_candidate(Scratch& scratch, std::uint32_t left) const;

  std::array<TokenId, 256> byte_tokens_{};
  std::vector<Rule> rules_;  // by rank
  MergeRanks ranks_;
  // Words whose encoding is one token, which are most words of a text.
  std::unordered_map<std::string_view, TokenId> whole_words_;
};

}  // namespace tvllm::tokenizer
