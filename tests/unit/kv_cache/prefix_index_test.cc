// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/prefix_index.h"

#include <gtest/gtest.h>

#include <array>

namespace tvllm::kv_cache {
namespace {

using Tokens = std::array<TokenId, 4>;

constexpr Tokens kOneToFour{1, 2, 3, 4};
constexpr Tokens kFiveToEight{5, 6, 7, 8};

// A made-up hash: the index compares all of it and sorts by its first bytes.
BlockHash hash(std::uint8_t first, std::uint8_t last = 0) {
  BlockHash made;
  made.bytes.front() = first;
  made.bytes.back() = last;
  return made;
}

TEST(PrefixIndexTest, FindsABlockUntilItIsErased) {
  PrefixIndex index(8, 4);
  const BlockHash h = hash(1);
  const BlockKey key{.group = 0, .parent = kNoContent, .hash = h, .token_ids = kOneToFour};
  EXPECT_EQ(index.find(key), kNullBlock);
  index.insert(BlockId(3), key);
  EXPECT_EQ(index.find(key), BlockId(3));
  EXPECT_TRUE(index.contains(BlockId(3)));
  EXPECT_EQ(index.size(), 1);
  index.erase(BlockId(3));
  EXPECT_EQ(index.find(key), kNullBlock);
  EXPECT_EQ(index.size(), 0);
  index.check_invariants();
}

TEST(PrefixIndexTest, ACollisionOfHashesSharesNothing) {
  PrefixIndex index(8, 4);
  const BlockHash h = hash(1);
  const BlockKey key{.group = 0, .parent = kNoContent, .hash = h, .token_ids = kOneToFour};
  index.insert(BlockId(1), key);
  const BlockKey other_tokens{
      .group = 0, .parent = kNoContent, .hash = h, .token_ids = kFiveToEight};
  EXPECT_EQ(index.find(other_tokens), kNullBlock);
  const BlockKey other_group{.group = 1, .parent = kNoContent, .hash = h, .token_ids = kOneToFour};
  EXPECT_EQ(index.find(other_group), kNullBlock);
  const BlockKey other_parent{
      .group = 0, .parent = index.content(BlockId(1)), .hash = h, .token_ids = kOneToFour};
  EXPECT_EQ(index.find(other_parent), kNullBlock);
  index.insert(BlockId(2), other_tokens);
  EXPECT_EQ(index.find(key), BlockId(1));
  EXPECT_EQ(index.find(other_tokens), BlockId(2));
  EXPECT_NE(index.content(BlockId(1)), index.content(BlockId(2)));
}

TEST(PrefixIndexTest, BlocksOfOneBucketAreToldApartByTheWholeHash) {
  PrefixIndex index(8, 4);
  const BlockHash a = hash(1, 1);
  const BlockHash b = hash(1, 2);
  index.insert(BlockId(1), {.group = 0, .parent = kNoContent, .hash = a, .token_ids = kOneToFour});
  const BlockKey key{.group = 0, .parent = kNoContent, .hash = b, .token_ids = kOneToFour};
  EXPECT_EQ(index.find(key), kNullBlock);
  index.insert(BlockId(2), key);
  EXPECT_EQ(index.find(key), BlockId(2));
  index.erase(BlockId(1));
  EXPECT_EQ(index.find(key), BlockId(2)) << "taking the front of a bucket keeps the rest";
  index.check_invariants();
}

TEST(PrefixIndexTest, DuplicatesHaveOneContentAndTheFirstIsFound) {
  PrefixIndex index(8, 4);
  const BlockHash h = hash(1);
  const BlockKey key{.group = 0, .parent = kNoContent, .hash = h, .token_ids = kOneToFour};
  index.insert(BlockId(5), key);
  EXPECT_FALSE(index.has_twin(BlockId(5)));
  index.insert(BlockId(2), key);
  EXPECT_EQ(index.find(key), BlockId(5));
  EXPECT_EQ(index.content(BlockId(5)), index.content(BlockId(2)));
  EXPECT_TRUE(index.has_twin(BlockId(5)) && index.has_twin(BlockId(2)));
  EXPECT_FALSE(index.has_twin(BlockId(3)));
  index.erase(BlockId(5));
  EXPECT_FALSE(index.has_twin(BlockId(2)));
  EXPECT_EQ(index.find(key), BlockId(2));
  index.check_invariants();
}

TEST(PrefixIndexTest, AContentIdIsNeverUsedAgain) {
  PrefixIndex index(8, 4);
  const BlockHash h = hash(1);
  const BlockKey key{.group = 0, .parent = kNoContent, .hash = h, .token_ids = kOneToFour};
  index.insert(BlockId(1), key);
  const ContentId first = index.content(BlockId(1));
  index.erase(BlockId(1));
  EXPECT_EQ(index.content(BlockId(1)), kNoContent);
  index.insert(BlockId(1), key);
  EXPECT_NE(index.content(BlockId(1)), first);
}

TEST(PrefixIndexTest, WithoutABlockSizeNothingIsEverFound) {
  const PrefixIndex index(8, 0);
  const BlockHash h = hash(1);
  EXPECT_FALSE(index.enabled());
  EXPECT_EQ(index.find({.group = 0, .parent = kNoContent, .hash = h, .token_ids = kOneToFour}),
            kNullBlock);
  EXPECT_FALSE(index.contains(BlockId(1)));
}

TEST(PrefixIndexDeathTest, ABlockIsIndexedOnceAndErasedOnce) {
  PrefixIndex index(8, 4);
  const BlockHash h = hash(1);
  const BlockKey key{.group = 0, .parent = kNoContent, .hash = h, .token_ids = kOneToFour};
  index.insert(BlockId(1), key);
  EXPECT_DEATH(index.insert(BlockId(1), key), "block 1 is indexed already");
  EXPECT_DEATH(index.erase(BlockId(2)), "block 2 is not indexed");
}

}  // namespace
}  // namespace tvllm::kv_cache
