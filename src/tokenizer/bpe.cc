// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "base/check.h"
#include "base/strings.h"
#include "tokenizer/byte_alphabet.h"

namespace tvllm::tokenizer {

namespace {

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

Error missing_token(std::size_t rank, const std::pair<std::string, std::string>& merge,
                    std::string_view missing) {
  return invalid_argument(str_cat("tokenizer: merge ", rank, " (", quoted(merge.first), " ",
                                  quoted(merge.second), "): ", quoted(missing),
                                  " is not a token of the vocabulary"));
}

}  // namespace

Result<Bpe> Bpe::create(const Vocabulary& vocabulary, const Merges& merges, bool ignore_merges) {
  if (merges.size() >= MergeRanks::kNone) {
    return invalid_argument(str_cat("tokenizer: ", merges.size(), " merges are too many"));
  }
  Bpe bpe(vocabulary, merges.size());
  TVLLM_RETURN_IF_ERROR(bpe.add_merges(merges));
  bpe.add_whole_words(ignore_merges);
  return bpe;
}

Bpe::Bpe(const Vocabulary& vocabulary, std::size_t num_merges)
    : vocabulary_(&vocabulary),
      ranks_(num_merges),
      whole_words_(static_cast<std::size_t>(vocabulary.size())) {
  for (std::size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const std::string text = byte_to_alphabet(static_cast<std::uint8_t>(byte));
    byte_tokens_[byte] = vocabulary.find(text).value_or(kNoToken);
  }
}

Status Bpe::add_merges(const Merges& merges) {
  rules_.reserve(merges.size());
  std::string merged_text;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left_text, right_text] = merges[rank];
    merged_text.assign(left_text).append(right_text);
    const std::optional<TokenId> left = vocabulary_->find(left_text);
    const std::optional<TokenId> right = vocabulary_->find(right_text);
    const std::optional<TokenId> merged = vocabulary_->find(merged_text);
    if (!left) return missing_token(rank, merges[rank], left_text);
    if (!right) return missing_token(rank, merges[rank], right_text);
    if (!merged) return missing_token(rank, merges[rank], merged_text);
    rules_.push_back({*left, *right, *merged});
    if (!vocabulary_->is_special(*merged)) {
      ranks_.set(*left, *right, static_cast<std::uint32_t>(rank));
    }
  }
  return {};
}

void Bpe::add_whole_words(bool ignore_merges) {
  Scratch scratch;
  std::vector<TokenId> merged;
  for (TokenId id = 0; id < vocabulary_->size(); ++id) {
    if (!vocabulary_->is_byte_level(id)) continue;
    const std::string_view word = bytes_of(id);
    if (word.empty() || word.size() > kMaxWordBytes) continue;
    if (!ignore_merges) {
      merged.clear();
      merge_word(word, scratch, merged);
      if (merged.size() != 1 || merged[0] != id) continue;
    }
    whole_words_.insert(id, [this](TokenId other) { return bytes_of(other); });
  }
}

void Bpe::encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  TVLLM_DCHECK(word.size() <= kMaxWordBytes, word.size());
  const std::optional<TokenId> whole =
      whole_words_.find(word, [this](TokenId id) { return bytes_of(id); });
  if (whole) {
    out.push_back(*whole);
  } else {
    merge_word(word, scratch, out);
  }
}

void Bpe::merge_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  if (word.size() <= kMaxShortWord) {
    merge_short_word(word, out);
  } else {
    merge_long_word(word, scratch, out);
  }
}

void Bpe::merge_short_word(std::string_view word, std::vector<TokenId>& out) const {
  std::array<TokenId, kMaxShortWord> ids{};
  std::array<std::uint32_t, kMaxShortWord> ranks{};  // of the pair that begins here
  std::size_t num_ids = 0;
  for (const char c : word) {
    const TokenId id = byte_tokens_[static_cast<std::uint8_t>(c)];
    if (id != kNoToken) ids[num_ids++] = id;
  }
  const auto rank_at = [&](std::size_t i) {
    return i + 1 < num_ids ? ranks_.find(ids[i], ids[i + 1]) : MergeRanks::kNone;
  };
  for (std::size_t i = 0; i < num_ids; ++i)
    ranks[i] = rank_at(i);

  while (num_ids > 1) {
    const auto lowest = std::min_element(ranks.begin(), ranks.begin() + num_ids);
    if (*lowest == MergeRanks::kNone) break;
    const std::size_t i = static_cast<std::size_t>(lowest - ranks.begin());
    ids[i] = rules_[*lowest].merged;
    std::copy(ids.begin() + i + 2, ids.begin() + num_ids, ids.begin() + i + 1);
    std::copy(ranks.begin() + i + 2, ranks.begin() + num_ids, ranks.begin() + i + 1);
    --num_ids;
    ranks[i] = rank_at(i);
    if (i > 0) ranks[i - 1] = rank_at(i - 1);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + num_ids);
}

void Bpe::merge_long_word(std::string_view word, Scratch& scratch,
                          std::vector<TokenId>& out) const {
  split_into_bytes(word, scratch);
  std::vector<Scratch::Symbol>& symbols = scratch.symbols_;
  std::vector<std::uint64_t>& candidates = scratch.candidates_;
  candidates.clear();
  for (std::uint32_t i = 0; i < symbols.size(); ++i)
    push_candidate(scratch, i);

  while (!candidates.empty()) {
    std::pop_heap(candidates.begin(), candidates.end(), std::greater<>());
    const std::uint64_t candidate = candidates.back();
    candidates.pop_back();
    const Rule& rule = rules_[candidate >> 32];
    const std::uint32_t left_idx = static_cast<std::uint32_t>(candidate);
    Scratch::Symbol& left = symbols[left_idx];
    if (left.id != rule.left || left.next == kNowhere) continue;
    Scratch::Symbol& right = symbols[left.next];
    if (right.id != rule.right) continue;

    left.id = rule.merged;
    right.id = kNoToken;
    left.next = right.next;
    if (left.next != kNowhere) symbols[left.next].prev = left_idx;
    push_candidate(scratch, left_idx);
    if (left.prev != kNowhere) push_candidate(scratch, left.prev);
  }
  for (const Scratch::Symbol& symbol : symbols) {
    if (symbol.id != kNoToken) out.push_back(symbol.id);
  }
}

void Bpe::split_into_bytes(std::string_view word, Scratch& scratch) const {
  std::vector<Scratch::Symbol>& symbols = scratch.symbols_;
  symbols.clear();
  for (const char c : word) {
    const TokenId id = byte_tokens_[static_cast<std::uint8_t>(c)];
    if (id == kNoToken) continue;
    const std::uint32_t i = static_cast<std::uint32_t>(symbols.size());
    symbols.push_back({id, i == 0 ? kNowhere : i - 1, i + 1});
  }
  if (!symbols.empty()) symbols.back().next = kNowhere;
}

void Bpe::push_candidate(Scratch& scratch, std::uint32_t left) const {
  const Scratch::Symbol& symbol = scratch.symbols_[left];
  if (symbol.next == kNowhere) return;
  const std::uint32_t rank = ranks_.find(symbol.id, scratch.symbols_[symbol.next].id);
  if (rank == MergeRanks::kNone) return;
  scratch.candidates_.push_back(std::uint64_t{rank} << 32 | left);
  std::push_heap(scratch.candidates_.begin(), scratch.candidates_.end(), std::greater<>());
}

}  // namespace tvllm::tokenizer
