// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace tvllm::tokenizer {

// Finds tokens by their text or bytes, which the owner keeps: a hash table with open addressing,
// whose slots are a hash and an id. `key_of(id)` gives the string of a token; every call gets one
// that gives the same strings. Immutable once filled.
class TokenIndex {
 public:
  // For up to `capacity` tokens.
  explicit TokenIndex(std::size_t capacity) {
    std::size_t num_slots = 16;
    while (num_slots < 2 * capacity)  // at most half full: chains stay short
      num_slots *= 2;
    slots_.resize(num_slots);
  }

  // A string that is there already keeps its first id. REQUIRES: id >= 0
  template <typename KeyOf>
  void insert(TokenId id, const KeyOf& key_of) {
    const std::string_view key = key_of(id);
    const std::uint32_t hash = hash_of(key);
    Slot& slot = slots_[slot_of(key, hash, key_of)];
    if (slot.id == kNoToken) slot = {hash, id};
  }

  template <typename KeyOf>
  std::optional<TokenId> find(std::string_view key, const KeyOf& key_of) const {
    const Slot& slot = slots_[slot_of(key, hash_of(key), key_of)];
    if (slot.id == kNoToken) return std::nullopt;
    return slot.id;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = kNoToken;
  };

  static std::uint32_t hash_of(std::string_view key) {
    const std::size_t hash = std::hash<std::string_view>()(key);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }

  // Where the key is, or the empty slot where it would be.
  template <typename KeyOf>
  std::size_t slot_of(std::string_view key, std::uint32_t hash, const KeyOf& key_of) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].id != kNoToken && (slots_[i].hash != hash || key_of(slots_[i].id) != key))
      i = (i + 1) & mask;
    return i;
  }

  std::vector<Slot> slots_;
};

}  // namespace tvllm::tokenizer
