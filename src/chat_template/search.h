// SPDX-License-Identifier: Apache-2.0
// Places in text: finding a part, and counting in characters as Python does.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tvllm::chat_template {

// Finds in time linear in needle and haystack, whoever chose them.
class Finder {
 public:
  // `needle` must outlive the finder.
  explicit Finder(std::string_view needle);

  // The first place at or after `from`, or npos.
  std::size_t find(std::string_view haystack, std::size_t from) const;

 private:
  std::string_view needle_;
  std::vector<std::size_t> border_;  // by prefix length; only of a long needle
};

// The last place of `needle`, or npos; linear too.
std::size_t find_last(std::string_view haystack, std::string_view needle);

// Where each character of a text begins, and the end.
class CharIndex {
 public:
  explicit CharIndex(std::string_view text);

  std::size_t num_chars() const { return num_chars_; }
  // REQUIRES: i <= num_chars()
  std::size_t byte_of(std::size_t i) const { return begins_.empty() ? i : begins_[i]; }
  // The number of characters before a byte that begins one.
  std::size_t char_of(std::size_t byte) const;

 private:
  std::vector<std::size_t> begins_;  // empty if every character is one byte
  std::size_t num_chars_ = 0;
};

}  // namespace tvllm::chat_template
