// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tvllm::output {

// What a request may ask for: more is refused, so that a choice costs at most 200 KB here.
inline constexpr std::size_t kMaxStopStrings = 64;
inline constexpr std::size_t kMaxStopBytes = 8192;  // of all stop strings together

// Refuses an empty string, one that is not UTF-8, and what is over the limits; `param` is "stop".
Status check_stop_strings(const std::vector<std::string>& stops);

// Finds stop strings in a text that arrives in pieces: an Aho-Corasick automaton, linear in the
// text whatever the strings. Byte positions count from the start of the text.
//
// The first match is the one that ends first; of several that end at one byte the longest, which
// began first, so that what is shown before it holds no part of a stop string. It does not depend
// on how the text is cut into pieces. Thread-compatible.
class StopMatcher {
 public:
  struct Match {
    std::size_t stop_idx = 0;  // in the vector given
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  // Strings that check_stop_strings would refuse one by one match nothing.
  explicit StopMatcher(const std::vector<std::string>& stops);

  // Takes the next piece, up to the end of the first match that `may_match` lets count: what ends
  // in a piece with `may_match` false is passed over, and can still be the start of a longer match.
  std::optional<Match> feed(std::string_view piece, bool may_match);

  // The length of the longest end of the text that begins some stop string, which more text could
  // complete: the fewest bytes that must be held back. Whole characters, if the text is.
  std::size_t held_len() const { return nodes_[state_].held_len; }

 private:
  // The trie of all strings. A node stands for the text on its path from the root, node 0; being in
  // it means that this is the longest end of the text that is on any path.
  struct Node {
    std::uint32_t first_child = 0;  // 0 = none: the root is nobody's child
    std::uint32_t next_sibling = 0;
    std::uint32_t fallback = 0;  // the longest proper end of its text that is a node
    std::uint32_t held_len = 0;
    std::int32_t match = kNoMatch;  // the longest stop string that its text ends with
    std::uint8_t byte = 0;          // last of its text
  };
  static constexpr std::int32_t kNoMatch = -1;

  void insert(const std::string& stop, std::size_t stop_idx);
  void link();
  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const;
  std::uint32_t next(std::uint32_t node, std::uint8_t byte) const;

  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> root_children_{};  // most text matches nothing: one look-up a byte
  std::vector<std::size_t> stop_lens_;
  std::uint32_t state_ = 0;
  std::size_t text_len_ = 0;
};

}  // namespace tvllm::output
