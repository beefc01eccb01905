// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/ids.h"

namespace tvllm::tokenizer {

// The rank of each pair of tokens that may be merged: a hash table with open addressing, because
// encoding is little else than looking up pairs, most of them in vain. Immutable once filled.
class MergeRanks {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // For up to `capacity` pairs.
  explicit MergeRanks(std::size_t capacity) {
    std::size_t num_slots = 16;
    while (num_slots < 2 * capacity)  // at most half full: chains stay short
      num_slots *= 2;
    slots_.resize(num_slots);
  }

  // A pair that is there already gets the new rank. REQUIRES: left >= 0, rank != kNone
  void set(TokenId left, TokenId right, std::uint32_t rank) {
    Slot& slot = slots_[slot_of(left, right)];
    slot = {left, right, rank};
  }

  // kNone if the pair may not be merged.
  std::uint32_t find(TokenId left, TokenId right) const {
    return slots_[slot_of(left, right)].rank;
  }

 private:
  struct Slot {
    TokenId left = kNoToken;
    TokenId right = kNoToken;
    std::uint32_t rank = kNone;
  };

  // Where the pair is, or the empty slot where it would be.
  std::size_t slot_of(TokenId left, TokenId right) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash(left, right) & mask;
    while (slots_[i].left != kNoToken && (slots_[i].left != left || slots_[i].right != right))
      i = (i + 1) & mask;
    return i;
  }

  // The multiplier and the shifts are those of MurmurHash3's 64-bit finalizer.
  static std::size_t hash(TokenId left, TokenId right) {
    std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    key ^= key >> 33;
    key *= 0xFF51AFD7ED558CCDu;
    key ^= key >> 33;
    return static_cast<std::size_t>(key);
  }

  std::vector<Slot> slots_;
};

}  // namespace tvllm::tokenizer
