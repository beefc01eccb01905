// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <cstdint>

namespace tvllm::tokenizer {

namespace {

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

}  // namespace

AddedTokens::AddedTokens(const Vocabulary& vocabulary, bool (*includes)(TokenType)) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (!includes(vocabulary.type(id)) || vocabulary.bytes(id).empty()) continue;
    tokens_.push_back({vocabulary.bytes(id), id});
  }
  // string_view compares bytes as unsigned, so tokens with one first byte are neighbours.
  std::sort(tokens_.begin(), tokens_.end(), [](const Token& a, const Token& b) {
    return a.text != b.text ? a.text < b.text : a.id < b.id;
  });
  const auto same_text = [](const Token& a, const Token& b) { return a.text == b.text; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same_text), tokens_.end());

  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    Span& span = by_first_byte_[byte_at(tokens_[i].text, 0)];
    if (span.begin == span.end) span.begin = i;
    span.end = i + 1;
  }
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    const Span& candidates = by_first_byte_[byte_at(text, begin)];
    if (candidates.begin == candidates.end) continue;
    if (std::optional<Match> match = match_at(text, begin)) return match;
  }
  return std::nullopt;
}

std::optional<AddedTokens::Match> AddedTokens::match_at(std::string_view text,
                                                        std::size_t begin) const {
  std::optional<Match> longest;
  Span span = by_first_byte_[byte_at(text, begin)];
  // The tokens in `span` agree with the text in their first `len` bytes; the one that has no more
  // is the first.
  for (std::size_t len = 1;; ++len) {
    if (tokens_[span.begin].text.size() == len) {
      longest = Match{begin, begin + len, tokens_[span.begin].id};
      ++span.begin;
    }
    if (span.begin == span.end || begin + len == text.size()) return longest;

    const std::uint8_t next = byte_at(text, begin + len);
    const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(span.begin);
    const auto last = tokens_.begin() + static_cast<std::ptrdiff_t>(span.end);
    const auto lower = std::partition_point(
        first, last, [&](const Token& token) { return byte_at(token.text, len) < next; });
    const auto upper = std::partition_point(
        lower, last, [&](const Token& token) { return byte_at(token.text, len) == next; });
    if (lower == upper) return longest;
    span = {static_cast<std::size_t>(lower - tokens_.begin()),
            static_cast<std::size_t>(upper - tokens_.begin())};
  }
}

}  // namespace tvllm::tokenizer
