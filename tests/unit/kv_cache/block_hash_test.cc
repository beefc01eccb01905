// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/block_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tvllm::kv_cache {
namespace {

using ::testing::ElementsAre;

std::string hex(const BlockHash& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : hash.bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Expected values: Python's hashlib.sha256 over the bytes that block_hash.h describes, numbers in
// little endian, with the secret 1, 2, 3, 4.
TEST(BlockHasherTest, ChainsSha256OverTheSecretTheExtraKeysAndTheTokens) {
  BlockHasher hasher(1);
  const std::vector<ExtraKey> keys = {{ExtraKeyKind::kModel, "llama f16"},
                                      {ExtraKeyKind::kCacheSalt, "tenant"}};
  const BlockHash root = hasher.root(keys);
  EXPECT_EQ(hex(root), "58b91623e777dfa9d8627a10880ba02308dfab866574acfb5dea94f30b97d1dd");
  const BlockHash first = hasher.child(root, std::vector<TokenId>{1, 2, 3, 50000});
  EXPECT_EQ(hex(first), "e166d39f617630ffb3755200aadaa29a7f8f7c247b0727bb966b4f111f3d63a7");
  const BlockHash second = hasher.child(first, std::vector<TokenId>{5, 6, 7, 8});
  EXPECT_EQ(hex(second), "4b1073fc7402dc7de592c8d3a8f112fa02900afe03ea82de8db5642fe252f5c1");
}

TEST(BlockHasherTest, NoExtraKeyPassesForAnother) {
  BlockHasher hasher(1);
  const std::vector<std::vector<ExtraKey>> all = {
      {},
      {{ExtraKeyKind::kModel, "ab"}},
      {{ExtraKeyKind::kCacheSalt, "ab"}},
      {{ExtraKeyKind::kModel, "a"}, {ExtraKeyKind::kCacheSalt, "b"}},
      {{ExtraKeyKind::kModel, "ab"}, {ExtraKeyKind::kCacheSalt, ""}},
      {{ExtraKeyKind::kModel, ""}, {ExtraKeyKind::kCacheSalt, "ab"}},
      {{ExtraKeyKind::kModel, std::string_view("a\0b", 3)}},
      {{ExtraKeyKind::kModel, std::string_view("ab\0", 3)}},
      // The bytes of the key "a" and of a salt "b" behind it, in one key.
      {{ExtraKeyKind::kModel, std::string_view("a\2\1\0\0\0\0\0\0\0b", 11)}},
  };
  std::set<std::string> roots;
  for (const std::vector<ExtraKey>& keys : all)
    roots.insert(hex(hasher.root(keys)));
  EXPECT_EQ(roots.size(), all.size());
}

TEST(BlockHasherTest, WithoutASeedEachProcessHasASecretOfItsOwn) {
  BlockHasher one;
  BlockHasher other;
  EXPECT_NE(hex(one.root({})), hex(other.root({})));
  EXPECT_EQ(hex(one.root({})), hex(one.root({})));
}

TEST(TokenHistoryTest, CopiesAcrossThePromptsEnd) {
  const std::vector<TokenId> prompt = {1, 2, 3};
  const std::vector<TokenId> outputs = {4, 5};
  const TokenHistory history{prompt, outputs};
  EXPECT_EQ(history.size(), 5);
  std::vector<TokenId> two(2);
  history.copy_to(0, two);
  EXPECT_THAT(two, ElementsAre(1, 2));
  history.copy_to(2, two);
  EXPECT_THAT(two, ElementsAre(3, 4));
  history.copy_to(3, two);
  EXPECT_THAT(two, ElementsAre(4, 5));
  std::vector<TokenId> five(5);
  history.copy_to(0, five);
  EXPECT_THAT(five, ElementsAre(1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace tvllm::kv_cache
