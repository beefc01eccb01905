// SPDX-License-Identifier: Apache-2.0
#include "chat_template/unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/utf8.h"

namespace tvllm::chat_template {

namespace {

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Every stride-th code point of first..last becomes itself + delta.
struct CaseRun {
  char32_t first;
  char32_t last;
  char32_t stride;
  std::int32_t delta;
};

struct CaseSpecial {
  char32_t from;
  char32_t first;
  char32_t second;
  char32_t third;
};

#include "chat_template/unicode_tables.inc"

template <std::size_t N>
bool contains(const CodePointRange (&ranges)[N], char32_t c) {
  const auto* at =
      std::lower_bound(std::begin(ranges), std::end(ranges), c,
                       [](const CodePointRange& range, char32_t v) { return range.last < v; });
  return at != std::end(ranges) && at->first <= c;
}

template <std::size_t N, std::size_t M>
CaseForm convert(const CaseRun (&runs)[N], const CaseSpecial (&special)[M], char32_t c) {
  const auto* exact =
      std::lower_bound(std::begin(special), std::end(special), c,
                       [](const CaseSpecial& row, char32_t v) { return row.from < v; });
  if (exact != std::end(special) && exact->from == c) {
    return {exact->first, exact->second, exact->third};
  }
  // Runs of stride 2 may interleave with their neighbour, so look back a little.
  const auto* after =
      std::upper_bound(std::begin(runs), std::end(runs), c,
                       [](char32_t v, const CaseRun& run) { return v < run.first; });
  for (int back = 0; back < 2 && after != std::begin(runs); ++back) {
    --after;
    if (c <= after->last && (c - after->first) % after->stride == 0) {
      return {static_cast<char32_t>(static_cast<std::int32_t>(c) + after->delta), 0, 0};
    }
  }
  return {c, 0, 0};
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_printable(char32_t c) {
  return !contains(kNotPrintable, c);
}
bool is_upper(char32_t c) {
  return contains(kUppercase, c);
}
bool is_lower(char32_t c) {
  return contains(kLowercase, c);
}
bool is_cased(char32_t c) {
  return is_upper(c) || is_lower(c) || contains(kTitlecase, c);
}
bool is_case_ignorable(char32_t c) {
  return contains(kCaseIgnorable, c);
}
bool is_alpha(char32_t c) {
  return contains(kAlpha, c);
}
bool is_digit(char32_t c) {
  return contains(kDigit, c);
}
bool is_alnum(char32_t c) {
  return is_alpha(c) || contains(kNumeric, c);
}

CaseForm to_upper(char32_t c) {
  return convert(kUpperRuns, kUpperSpecial, c);
}
CaseForm to_lower(char32_t c) {
  return convert(kLowerRuns, kLowerSpecial, c);
}
CaseForm to_title(char32_t c) {
  return convert(kTitleRuns, kTitleSpecial, c);
}

Char char_at(std::string_view text, std::size_t at) {
  const Utf8Char c = decode_utf8(text.substr(at));
  const std::size_t num_bytes =
      c.state == Utf8State::kComplete ? static_cast<std::size_t>(c.num_bytes) : 1;
  return {c.code_point, at, at + num_bytes};
}

Char char_before(std::string_view text, std::size_t end) {
  // The longest that ends here: a last byte by itself would be no character.
  for (std::size_t at = end >= 4 ? end - 4 : 0; at + 1 < end; ++at) {
    const Char c = char_at(text, at);
    if (c.end == end) return c;
  }
  return char_at(text.substr(0, end), end - 1);
}

std::size_t count_chars(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at = char_at(text, at).end)
    ++count;
  return count;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const Char c = char_at(text, at);
    if (!is_space(c.code_point)) break;
    at = c.end;
  }
  return at;
}

std::size_t end_without_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const Char c = char_before(text, end);
    if (!is_space(c.code_point)) break;
    end = c.begin;
  }
  return end;
}

}  // namespace tvllm::chat_template
