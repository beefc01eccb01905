// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace tvllm::kv_cache {

// SHA-256 of everything up to and including a full block: two blocks with the same hash hold the K
// and V of the same tokens at the same positions, under the same extra keys.
struct BlockHash {
  std::array<std::uint8_t, 32> bytes{};

  // Every bit of a SHA-256 is as good as another: the first 64 choose a bucket.
  std::uint64_t bucket_bits() const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data(), sizeof bits);
    return bits;
  }
  friend bool operator==(const BlockHash&, const BlockHash&) = default;
};

// What K and V depend on beside the tokens. The numbers are part of what is hashed.
enum class ExtraKeyKind : std::uint8_t {
  kModel = 1,      // weights, their types and the type of K and V
  kCacheSalt = 2,  // a client's word
};

struct ExtraKey {
  ExtraKeyKind kind = ExtraKeyKind::kModel;
  std::string_view bytes;
};

// The tokens of a sequence, in two pieces as the sequence has them: nothing is copied to hash or
// compare them.
struct TokenHistory {
  std::span<const TokenId> prompt;
  std::span<const TokenId> outputs;

  std::int32_t size() const { return static_cast<std::int32_t>(prompt.size() + outputs.size()); }
  // Copies the tokens from `first` on. REQUIRES: first + tokens.size() <= size()
  void copy_to(std::int32_t first, std::span<TokenId> tokens) const;
};

// The hashes of a sequence's full blocks, in order. A history only grows, so they stay true for the
// sequence's whole life, preemptions included.
struct HashChain {
  std::optional<BlockHash> root;
  std::vector<BlockHash> blocks;
};

// Makes chained hashes:
//
//   root       = SHA-256(secret, extra keys, each as kind, length, bytes)
//   hash of b  = SHA-256(hash of the block before b or the root, token ids of b)
//
// The kind and the length keep one key's bytes from passing for another's. The secret is drawn at
// start, so that nobody outside can search for two prompts whose hashes meet.
//
// Engine thread only. Allocates nothing itself after construction; libcrypto 3.0 takes and frees a
// working state of about a hundred bytes for each hash, so once a full block.
class BlockHasher {
 public:
  // Without a seed 32 bytes from the operating system are the secret; a test gives a seed.
  explicit BlockHasher(std::optional<std::uint64_t> seed = std::nullopt);
  ~BlockHasher();
  BlockHasher(const BlockHasher&) = delete;
  BlockHasher& operator=(const BlockHasher&) = delete;

  BlockHash root(std::span<const ExtraKey> keys);
  BlockHash child(const BlockHash& parent, std::span<const TokenId> token_ids);

 private:
  struct Sha256;  // OpenSSL's, seen by the .cc alone

  std::array<std::uint64_t, 4> secret_{};
  std::unique_ptr<Sha256> sha256_;
};

}  // namespace tvllm::kv_cache
