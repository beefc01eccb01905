// SPDX-License-Identifier: Apache-2.0
// Sharing of full blocks, seen from KvCacheManager.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kv_cache/kv_cache_manager.h"

namespace tvllm::kv_cache {
namespace {

using Tokens = std::vector<TokenId>;

std::vector<BlockId> blocks(std::initializer_list<std::int32_t> ids) {
  return {ids.begin(), ids.end()};
}

Tokens counted(TokenId first, std::size_t count) {
  Tokens tokens;
  for (std::size_t i = 0; i < count; ++i)
    tokens.push_back(first + static_cast<TokenId>(i));
  return tokens;
}

// A manager and what a scheduler does with it.
class Cache {
 public:
  explicit Cache(std::int32_t num_blocks, std::int32_t num_groups = 1)
      : kv({.num_groups = num_groups,
            .block_size = 4,
            .num_blocks = num_blocks,
            .enable_prefix_caching = true,
            .model_fingerprint = "tiny",
            .prefix_hash_seed = 1}) {}

  // What a sequence with these tokens would hit.
  PrefixHit look(const Tokens& tokens, const std::string& salt = "") {
    HashChain chain;
    PrefixHit hit;
    kv.extend(chain, {tokens, {}}, salt);
    kv.find_hit(chain, {tokens, {}}, static_cast<std::int32_t>(tokens.size()) - 1, hit);
    return hit;
  }

  // Admits, computes and indexes all tokens of a sequence; what it hit.
  std::int32_t run(SeqId seq_id, const Tokens& tokens, const std::string& salt = "") {
    const PrefixHit hit = look(tokens, salt);
    kv.add_sequence(seq_id, 64);
    kv.take_hit(seq_id, hit);
    EXPECT_TRUE(kv.allocate_slots(seq_id, static_cast<std::int64_t>(tokens.size())));
    HashChain chain;
    kv.extend(chain, {tokens, {}}, salt);
    kv.index_blocks(seq_id, chain, {tokens, {}}, static_cast<std::int32_t>(tokens.size()));
    kv.check_invariants();
    return hit.num_tokens;
  }

  void forget(SeqId seq_id) { kv.forget_blocks(seq_id, {}, {}); }

  std::vector<BlockId> table(SeqId seq_id, std::int32_t group = 0) const {
    const auto span = kv.block_table(seq_id, group);
    return {span.begin(), span.end()};
  }

  KvCacheManager kv;
};

constexpr SeqId kFirst{1};
constexpr SeqId kSecond{2};
constexpr SeqId kThird{3};

TEST(PrefixCacheTest, SharesTheFullBlocksOfAnEqualBeginning) {
  Cache cache(16);
  EXPECT_EQ(cache.run(kFirst, counted(0, 10)), 0);
  EXPECT_EQ(cache.table(kFirst), blocks({1, 2, 3}));
  EXPECT_EQ(cache.run(kSecond, counted(0, 10)), 8);
  EXPECT_EQ(cache.table(kSecond), blocks({1, 2, 4}));
  EXPECT_EQ(cache.kv.num_used_blocks(), 4);
}

TEST(PrefixCacheTest, NeverHitsTheLastTokenForItsLogitsAreNeeded) {
  Cache cache(16);
  cache.run(kFirst, counted(0, 8));
  EXPECT_EQ(cache.look(counted(0, 8)).num_tokens, 4);
  EXPECT_EQ(cache.look(counted(0, 9)).num_tokens, 8);
  EXPECT_EQ(cache.look(counted(0, 4)).num_tokens, 0);
  EXPECT_EQ(cache.look(counted(0, 1)).num_tokens, 0);
}

TEST(PrefixCacheTest, StopsAtTheFirstBlockThatDiffers) {
  Cache cache(16);
  cache.run(kFirst, counted(0, 12));
  Tokens other = counted(0, 13);
  other[5] = 99;
  EXPECT_EQ(cache.look(other).num_tokens, 4) << "the third block is equal, what stands before not";
  other[0] = 99;
  EXPECT_EQ(cache.look(other).num_tokens, 0);
}

TEST(PrefixCacheTest, ASaltKeepsTenantsApart) {
  Cache cache(16);
  cache.run(kFirst, counted(0, 9), "red");
  EXPECT_EQ(cache.look(counted(0, 9), "red").num_tokens, 8);
  EXPECT_EQ(cache.look(counted(0, 9), "blue").num_tokens, 0);
  EXPECT_EQ(cache.look(counted(0, 9)).num_tokens, 0);
}

TEST(PrefixCacheTest, ReleasedContentStaysUntilItsBlockIsTaken) {
  Cache cache(4);
  cache.run(kFirst, counted(0, 10));
  cache.kv.release(kFirst);
  EXPECT_EQ(cache.kv.num_used_blocks(), 0);
  EXPECT_EQ(cache.kv.num_cached_blocks(), 2);
  EXPECT_EQ(cache.kv.num_free_blocks(), 2);
  // Block 3 holds no full block and block 4 was never used: they go first, then the tail.
  cache.run(kSecond, counted(50, 9));
  EXPECT_EQ(cache.table(kSecond), blocks({3, 4, 2}));
  EXPECT_EQ(cache.look(counted(0, 10)).num_tokens, 4);
  EXPECT_EQ(cache.kv.num_cached_blocks(), 1);
}

TEST(PrefixCacheTest, AHitTakesACachedBlockOutOfTheMiddleOfTheQueue) {
  Cache cache(6);
  cache.run(kFirst, counted(0, 8));
  cache.run(kSecond, counted(50, 8));
  cache.kv.release(kFirst);
  cache.kv.release(kSecond);
  const PrefixHit hit = cache.look(counted(50, 9));
  EXPECT_EQ(hit.num_tokens, 8);
  EXPECT_EQ(cache.kv.num_blocks_needed(9, hit), 3);
  cache.run(kThird, counted(50, 9));
  EXPECT_EQ(cache.table(kThird), blocks({3, 4, 5}));
  EXPECT_EQ(cache.kv.num_cached_blocks(), 2);
  EXPECT_EQ(cache.kv.num_blocks_needed(9, cache.look(counted(50, 9))), 1);
}

TEST(PrefixCacheTest, GeneratedTokensAreHitAcrossTheEndOfThePrompt) {
  Cache cache(16);
  const Tokens prompt = counted(0, 6);
  const Tokens outputs = counted(6, 5);
  cache.kv.add_sequence(kFirst, 32);
  ASSERT_TRUE(cache.kv.allocate_slots(kFirst, 11));
  HashChain chain;
  cache.kv.extend(chain, {prompt, {}}, "");
  EXPECT_EQ(chain.blocks.size(), 1u);
  cache.kv.extend(chain, {prompt, outputs}, "");
  EXPECT_EQ(chain.blocks.size(), 2u);
  cache.kv.index_blocks(kFirst, chain, {prompt, outputs}, 10);
  EXPECT_EQ(cache.look(counted(0, 11)).num_tokens, 8);
}

TEST(PrefixCacheTest, OnlyWhatIsComputedIsIndexed) {
  Cache cache(16);
  const Tokens tokens = counted(0, 12);
  HashChain chain;
  cache.kv.extend(chain, {tokens, {}}, "");
  cache.kv.add_sequence(kFirst, 32);
  ASSERT_TRUE(cache.kv.allocate_slots(kFirst, 12));
  cache.kv.index_blocks(kFirst, chain, {tokens, {}}, 7);
  EXPECT_EQ(cache.look(counted(0, 13)).num_tokens, 4);
}

TEST(PrefixCacheTest, GroupsAreHitTogetherOrNotAtAll) {
  Cache cache(8, 2);
  cache.run(kFirst, counted(0, 8));
  EXPECT_EQ(cache.table(kFirst, 0), blocks({1, 2}));
  EXPECT_EQ(cache.table(kFirst, 1), blocks({3, 4}));
  EXPECT_EQ(cache.look(counted(0, 9)).num_tokens, 8);
  cache.kv.release(kFirst);
  // Takes the four free blocks and both cached ones of the first group.
  cache.kv.add_sequence(kSecond, 64);
  ASSERT_TRUE(cache.kv.allocate_slots(kSecond, 12));
  EXPECT_EQ(cache.kv.num_cached_blocks(), 2);
  const PrefixHit hit = cache.look(counted(0, 9));
  EXPECT_EQ(hit.num_tokens, 0);
  EXPECT_TRUE(hit.tables[0].empty() && hit.tables[1].empty());
}

TEST(PrefixCacheTest, DuplicatesServeEachOthersChildren) {
  Cache cache(8);
  // Both compute the same tokens at the same time: neither could hit the other.
  const Tokens tokens = counted(0, 9);
  HashChain chain;
  cache.kv.extend(chain, {tokens, {}}, "");
  for (const SeqId seq_id : {kFirst, kSecond}) {
    cache.kv.add_sequence(seq_id, 32);
    ASSERT_TRUE(cache.kv.allocate_slots(seq_id, 8));
  }
  for (const SeqId seq_id : {kFirst, kSecond})
    cache.kv.index_blocks(seq_id, chain, {tokens, {}}, 8);
  cache.kv.check_invariants();
  EXPECT_EQ(cache.look(tokens).tables[0], blocks({1, 2}));
  // The second one's next block continues the first one's blocks too.
  Tokens longer = counted(0, 13);
  cache.kv.extend(chain, {longer, {}}, "");
  ASSERT_TRUE(cache.kv.allocate_slots(kSecond, 12));
  cache.kv.index_blocks(kSecond, chain, {longer, {}}, 12);
  EXPECT_EQ(cache.look(longer).tables[0], blocks({1, 2, 5}));
  cache.kv.release(kFirst);
  EXPECT_EQ(cache.look(longer).tables[0], blocks({3, 4, 5}));
}

TEST(PrefixCacheTest, OfDuplicatesThatNobodyHoldsOneIsKept) {
  Cache cache(8);
  const Tokens tokens = counted(0, 9);
  HashChain chain;
  cache.kv.extend(chain, {tokens, {}}, "");
  for (const SeqId seq_id : {kFirst, kSecond}) {
    cache.kv.add_sequence(seq_id, 32);
    ASSERT_TRUE(cache.kv.allocate_slots(seq_id, 8));
  }
  for (const SeqId seq_id : {kFirst, kSecond})
    cache.kv.index_blocks(seq_id, chain, {tokens, {}}, 8);
  for (const SeqId seq_id : {kFirst, kSecond}) {
    cache.kv.release(seq_id);
    cache.kv.check_invariants();
  }
  EXPECT_EQ(cache.kv.num_cached_blocks(), 2);
  EXPECT_EQ(cache.look(tokens).num_tokens, 8);
  // What was a copy is taken before what never held anything.
  cache.run(kThird, counted(50, 8));
  EXPECT_EQ(cache.table(kThird), blocks({1, 2}));
}

TEST(PrefixCacheTest, ForgottenBlocksAndWhatStandsBehindThemAreNotShared) {
  Cache cache(16);
  cache.run(kFirst, counted(0, 8));
  EXPECT_EQ(cache.run(kSecond, counted(0, 13)), 8);
  EXPECT_EQ(cache.look(counted(0, 13)).num_tokens, 12);
  cache.forget(kFirst);
  cache.kv.check_invariants();
  EXPECT_EQ(cache.look(counted(0, 13)).num_tokens, 0);
  cache.kv.release(kFirst);
  EXPECT_EQ(cache.run(kThird, counted(0, 9)), 0);
  EXPECT_EQ(cache.look(counted(0, 13)).num_tokens, 8) << "the old third block has another parent";
}

TEST(PrefixCacheTest, ASharerOfForgottenBlocksIndexesNothingMore) {
  Cache cache(16);
  const Tokens tokens = counted(0, 13);
  HashChain chain;
  cache.kv.extend(chain, {tokens, {}}, "");
  cache.kv.add_sequence(kFirst, 32);
  ASSERT_TRUE(cache.kv.allocate_slots(kFirst, 13));
  cache.kv.index_blocks(kFirst, chain, {tokens, {}}, 8);
  cache.forget(kFirst);
  cache.kv.index_blocks(kFirst, chain, {tokens, {}}, 12);
  cache.kv.check_invariants();
  EXPECT_EQ(cache.look(tokens).num_tokens, 0);
  cache.kv.release(kFirst);
  EXPECT_EQ(cache.kv.num_cached_blocks(), 0);
}

TEST(PrefixCacheTest, ResetDropsWhatNobodyHolds) {
  Cache cache(16);
  cache.run(kFirst, counted(0, 8));
  cache.run(kSecond, counted(50, 8));
  cache.kv.release(kFirst);
  cache.kv.reset_prefix_cache();
  cache.kv.check_invariants();
  EXPECT_EQ(cache.kv.num_cached_blocks(), 0);
  EXPECT_EQ(cache.kv.num_free_blocks(), 14);
  EXPECT_EQ(cache.look(counted(0, 9)).num_tokens, 0);
  EXPECT_EQ(cache.look(counted(50, 9)).num_tokens, 8);
}

TEST(PrefixCacheTest, CountsWhatASetOfSequencesWouldGiveBackTogether) {
  Cache cache(16);
  cache.run(kFirst, counted(0, 8));
  cache.run(kSecond, counted(0, 9));
  EXPECT_EQ(cache.kv.num_blocks_freed_by_release(std::vector{kFirst}), 0);
  EXPECT_EQ(cache.kv.num_blocks_freed_by_release(std::vector{kSecond}), 1);
  EXPECT_EQ(cache.kv.num_blocks_freed_by_release(std::vector{kFirst, kSecond}), 3);
  EXPECT_EQ(cache.kv.num_blocks_freed_by_release(std::vector{kFirst}), 0)
      << "asking counts nothing";
}

TEST(PrefixCacheTest, SwitchedOffItHashesAndHitsNothing) {
  KvCacheManager kv({.num_groups = 1, .block_size = 4, .num_blocks = 8});
  const Tokens tokens = counted(0, 9);
  HashChain chain;
  PrefixHit hit;
  kv.extend(chain, {tokens, {}}, "salt");
  EXPECT_FALSE(chain.root.has_value());
  EXPECT_TRUE(chain.blocks.empty());
  kv.add_sequence(kFirst, 32);
  ASSERT_TRUE(kv.allocate_slots(kFirst, 9));
  kv.index_blocks(kFirst, chain, {tokens, {}}, 9);
  kv.find_hit(chain, {tokens, {}}, 8, hit);
  EXPECT_EQ(hit.num_tokens, 0);
  kv.release(kFirst);
  EXPECT_EQ(kv.num_cached_blocks(), 0);
}

}  // namespace
}  // namespace tvllm::kv_cache
