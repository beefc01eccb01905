// SPDX-License-Identifier: Apache-2.0
#include "chat_template/search.h"

#include <algorithm>
#include <string>

#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

// Up to here the library's search, quadratic at worst, is faster than thinking.
constexpr std::size_t kShortNeedle = 16;

}  // namespace

Finder::Finder(std::string_view needle) : needle_(needle) {
  if (needle.size() <= kShortNeedle) return;
  // Knuth, Morris and Pratt: the longest proper prefix of needle[0, i] that is also its suffix.
  border_.assign(needle.size(), 0);
  for (std::size_t i = 1, length = 0; i < needle.size(); ++i) {
    while (length > 0 && needle[i] != needle[length])
      length = border_[length - 1];
    if (needle[i] == needle[length]) ++length;
    border_[i] = length;
  }
}

std::size_t Finder::find(std::string_view haystack, std::size_t from) const {
  if (border_.empty()) return haystack.find(needle_, from);
  for (std::size_t i = from, length = 0; i < haystack.size(); ++i) {
    while (length > 0 && haystack[i] != needle_[length])
      length = border_[length - 1];
    if (haystack[i] == needle_[length]) ++length;
    if (length == needle_.size()) return i + 1 - length;
  }
  return std::string_view::npos;
}

std::size_t find_last(std::string_view haystack, std::string_view needle) {
  if (needle.size() <= kShortNeedle) return haystack.rfind(needle);
  const std::string reversed_haystack(haystack.rbegin(), haystack.rend());
  const std::string reversed_needle(needle.rbegin(), needle.rend());
  const std::size_t at = Finder(reversed_needle).find(reversed_haystack, 0);
  return at == std::string_view::npos ? at : haystack.size() - at - needle.size();
}

CharIndex::CharIndex(std::string_view text) : num_chars_(text.size()) {
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    return;
  }
  for (std::size_t at = 0; at < text.size(); at = char_at(text, at).end)
    begins_.push_back(at);
  num_chars_ = begins_.size();
  begins_.push_back(text.size());
}

std::size_t CharIndex::char_of(std::size_t byte) const {
  if (begins_.empty()) return byte;
  const auto at = std::lower_bound(begins_.begin(), begins_.end(), byte);
  return static_cast<std::size_t>(at - begins_.begin());
}

}  // namespace tvllm::chat_template
