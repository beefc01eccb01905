// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/sentence_piece.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <string>

#include "base/strings.h"
#include "base/utf8.h"

namespace tvllm::tokenizer {

namespace {

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

// An integer that falls as the score rises. The bits of a positive float order as integers do,
// those of a negative one in reverse.
std::uint32_t rank_of_score(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);  // no -0
  const std::uint32_t rising = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return ~rising;
}

// Bytes of the character at the start; of what is no character, of its maximal part.
std::size_t char_len(std::string_view text) {
  return static_cast<std::size_t>(decode_utf8(text).num_bytes);
}

}  // namespace

struct SentencePiece::Scratch {
  // A piece of the word: what lies between its begin and the begin of the next one.
  struct Symbol {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t prev;  // indices of symbols, kNowhere at the ends
    std::uint32_t next;
  };
  // Two neighbours that are a piece together. It is not taken out when a merge beside it consumes
  // one of the two; it is found stale on top, as its end is none any more.
  struct Candidate {
    std::uint64_t rank_and_left;  // rank, then index of the left symbol, the lowest on top
    std::uint32_t end;

    friend bool operator>(const Candidate& a, const Candidate& b) {
      return a.rank_and_left > b.rank_and_left;
    }
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> candidates;  // a heap
};

Result<SentencePiece> SentencePiece::create(const Vocabulary& vocabulary,
                                            std::span<const float> scores,
                                            std::optional<TokenId> unknown_token_id) {
  if (scores.size() != static_cast<std::size_t>(vocabulary.size())) {
    return invalid_argument(str_cat("tokenizer: expected a score for each of ", vocabulary.size(),
                                    " tokens, found ", scores.size(), " scores"));
  }
  return SentencePiece(vocabulary, scores, unknown_token_id);
}

SentencePiece::SentencePiece(const Vocabulary& vocabulary, std::span<const float> scores,
                             std::optional<TokenId> unknown_token_id)
    : vocabulary_(&vocabulary),
      pieces_(scores.size()),
      byte_tokens_(256, kNoToken),
      unknown_token_id_(unknown_token_id) {
  ranks_.reserve(scores.size());
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    ranks_.push_back(rank_of_score(scores[static_cast<std::size_t>(id)]));
    const std::string_view bytes = vocabulary.bytes(id);
    if (vocabulary.type(id) == TokenType::kByte && bytes.size() == 1) {
      TokenId& token = byte_tokens_[byte_at(bytes, 0)];
      if (token == kNoToken) token = id;
    }
    if (vocabulary.type(id) != TokenType::kNormal || bytes.empty()) continue;
    pieces_.insert(id, [this](TokenId other) { return vocabulary_->bytes(other); });
    max_piece_bytes_ = std::max(max_piece_bytes_, bytes.size());
    for (std::size_t blank = bytes.find(' ', 1); blank != std::string_view::npos;
         blank = bytes.find(' ', blank + 1)) {
      before_blank_.set(byte_at(bytes, blank - 1));
    }
  }
}

void SentencePiece::encode(std::string_view text, std::vector<TokenId>& out) const {
  std::string unescaped;
  if (text.find(kEscapedBlank) != std::string_view::npos) {
    unescaped = unescape_blanks(text);
    text = unescaped;
  }
  Scratch scratch;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = word_end(text, begin);
    encode_word(text.substr(begin, end - begin), scratch, out);
    begin = end;
  }
}

std::size_t SentencePiece::word_end(std::string_view text, std::size_t begin) const {
  std::size_t end = begin;
  do {
    end = text.find(' ', end + 1);
  } while (end != std::string_view::npos && before_blank_.test(byte_at(text, end - 1)));
  end = std::min(end, text.size());
  if (end - begin <= kMaxWordBytes) return end;
  end = begin + kMaxWordBytes;
  while ((byte_at(text, end) & 0xC0) == 0x80 && end > begin + kMaxWordBytes - 3)
    --end;  // not inside a character
  return end;
}

void SentencePiece::encode_word(std::string_view word, Scratch& scratch,
                                std::vector<TokenId>& out) const {
  if (word.size() <= kMaxShortWord) {
    merge_short_word(word, out);
  } else {
    merge_long_word(word, scratch, out);
  }
}

void SentencePiece::merge_short_word(std::string_view word, std::vector<TokenId>& out) const {
  std::array<std::uint8_t, kMaxShortWord + 1> begins{};  // of the symbols, and the end
  std::array<std::uint32_t, kMaxShortWord> ranks{};      // of a symbol and the next one together
  std::size_t num_symbols = 0;
  for (std::size_t begin = 0; begin < word.size(); begin += char_len(word.substr(begin))) {
    begins[num_symbols++] = static_cast<std::uint8_t>(begin);
  }
  begins[num_symbols] = static_cast<std::uint8_t>(word.size());
  const auto text_of = [&](std::size_t first, std::size_t end) {
    return word.substr(begins[first], begins[end] - std::size_t{begins[first]});
  };
  const auto rank_at = [&](std::size_t i) {
    return i + 1 < num_symbols ? rank_of(text_of(i, i + 2)) : kNoRank;
  };
  for (std::size_t i = 0; i < num_symbols; ++i)
    ranks[i] = rank_at(i);

  while (num_symbols > 1) {
    const auto lowest = std::min_element(ranks.begin(), ranks.begin() + num_symbols);
    if (*lowest == kNoRank) break;
    const std::size_t i = static_cast<std::size_t>(lowest - ranks.begin());
    std::copy(begins.begin() + i + 2, begins.begin() + num_symbols + 1, begins.begin() + i + 1);
    std::copy(ranks.begin() + i + 2, ranks.begin() + num_symbols, ranks.begin() + i + 1);
    --num_symbols;
    ranks[i] = rank_at(i);
    if (i > 0) ranks[i - 1] = rank_at(i - 1);
  }
  for (std::size_t i = 0; i < num_symbols; ++i)
    append_piece(text_of(i, i + 1), out);
}

void SentencePiece::merge_long_word(std::string_view word, Scratch& scratch,
                                    std::vector<TokenId>& out) const {
  std::vector<Scratch::Symbol>& symbols = scratch.symbols;
  std::vector<Scratch::Candidate>& candidates = scratch.candidates;
  symbols.clear();
  candidates.clear();
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t end = begin + char_len(word.substr(begin));
    const auto i = static_cast<std::uint32_t>(symbols.size());
    symbols.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
                       i == 0 ? kNowhere : i - 1, i + 1});
    begin = end;
  }
  symbols.back().next = kNowhere;
  for (std::uint32_t i = 0; i < symbols.size(); ++i)
    push_candidate(word, scratch, i);

  while (!candidates.empty()) {
    std::pop_heap(candidates.begin(), candidates.end(), std::greater<>());
    const Scratch::Candidate candidate = candidates.back();
    candidates.pop_back();
    const auto left_idx = static_cast<std::uint32_t>(candidate.rank_and_left);
    Scratch::Symbol& left = symbols[left_idx];
    if (left.end == left.begin || left.next == kNowhere) continue;
    Scratch::Symbol& right = symbols[left.next];
    if (right.end != candidate.end) continue;

    left.end = right.end;
    right.end = right.begin;  // empty: consumed
    left.next = right.next;
    if (left.next != kNowhere) symbols[left.next].prev = left_idx;
    push_candidate(word, scratch, left_idx);
    if (left.prev != kNowhere) push_candidate(word, scratch, left.prev);
  }
  for (std::uint32_t i = 0; i != kNowhere; i = symbols[i].next)
    append_piece(word.substr(symbols[i].begin, symbols[i].end - symbols[i].begin), out);
}

void SentencePiece::push_candidate(std::string_view word, Scratch& scratch,
                                   std::uint32_t left) const {
  const Scratch::Symbol& symbol = scratch.symbols[left];
  if (symbol.next == kNowhere) return;
  const std::uint32_t end = scratch.symbols[symbol.next].end;
  const std::uint32_t rank = rank_of(word.substr(symbol.begin, end - symbol.begin));
  if (rank == kNoRank) return;
  scratch.candidates.push_back({std::uint64_t{rank} << 32 | left, end});
  std::push_heap(scratch.candidates.begin(), scratch.candidates.end(), std::greater<>());
}

std::uint32_t SentencePiece::rank_of(std::string_view piece) const {
  if (piece.size() > max_piece_bytes_) return kNoRank;  // so a look-up costs a bounded time
  const std::optional<TokenId> id =
      pieces_.find(piece, [this](TokenId other) { return vocabulary_->bytes(other); });
  return id ? ranks_[static_cast<std::size_t>(*id)] : kNoRank;
}

// A character without a token becomes its bytes; without those it is unknown, once for several in a
// row.
void SentencePiece::append_piece(std::string_view piece, std::vector<TokenId>& out) const {
  const std::optional<TokenId> id =
      pieces_.find(piece, [this](TokenId other) { return vocabulary_->bytes(other); });
  if (id) {
    out.push_back(*id);
    return;
  }
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const TokenId token = byte_tokens_[byte_at(piece, i)];
    if (token != kNoToken) {
      out.push_back(token);
    } else if (unknown_token_id_ && (out.empty() || out.back() != *unknown_token_id_)) {
      out.push_back(*unknown_token_id_);
    }
  }
}

}  // namespace tvllm::tokenizer
