// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/kv_cache_manager.h"

#include <gtest/gtest.h>

#include <set>

namespace tvllm::kv_cache {
namespace {

constexpr SeqId kFirst{1};
constexpr SeqId kSecond{2};

TEST(KvCacheManagerTest, CountsBlocksRoundedUpAndForEachGroup) {
  const KvCacheManager one({.num_groups = 1, .block_size = 16, .num_blocks = 10});
  EXPECT_EQ(one.layout().num_blocks_for_tokens(0), 0);
  EXPECT_EQ(one.layout().num_blocks_for_tokens(1), 1);
  EXPECT_EQ(one.layout().num_blocks_for_tokens(16), 1);
  EXPECT_EQ(one.layout().num_blocks_for_tokens(17), 2);
  const KvCacheManager two({.num_groups = 2, .block_size = 16, .num_blocks = 10});
  EXPECT_EQ(two.layout().num_blocks_for_tokens(17), 4);
}

TEST(KvCacheManagerTest, SaysWhichLengthsThePoolCanEverHold) {
  const KvCacheManager one({.num_groups = 1, .block_size = 4, .num_blocks = 5});
  EXPECT_EQ(one.max_num_tokens(), 20);
  EXPECT_TRUE(one.can_ever_fit(20));
  EXPECT_FALSE(one.can_ever_fit(21));
  EXPECT_FALSE(one.can_ever_fit(std::int64_t{1} << 40));
  const KvCacheManager two({.num_groups = 2, .block_size = 4, .num_blocks = 5});
  EXPECT_EQ(two.max_num_tokens(), 8);
  EXPECT_TRUE(two.can_ever_fit(8));
  EXPECT_FALSE(two.can_ever_fit(9));
}

TEST(KvCacheManagerTest, TakesBlocksOnlyAsPositionsNeedThem) {
  KvCacheManager kv({.num_groups = 1, .block_size = 4, .num_blocks = 8});
  kv.add_sequence(kFirst, 32);
  EXPECT_EQ(kv.num_used_blocks(), 0);
  EXPECT_TRUE(kv.allocate_slots(kFirst, 4));
  EXPECT_EQ(kv.num_used_blocks(), 1);
  EXPECT_EQ(kv.num_missing_blocks(kFirst, 4), 0);
  EXPECT_EQ(kv.num_missing_blocks(kFirst, 5), 1);
  EXPECT_TRUE(kv.allocate_slots(kFirst, 5));
  EXPECT_TRUE(kv.allocate_slots(kFirst, 8));
  EXPECT_EQ(kv.num_used_blocks(), 2);
  EXPECT_TRUE(kv.allocate_slots(kFirst, 3)) << "what is there already is no request for more";
  EXPECT_EQ(kv.num_used_blocks(), 2);
  kv.check_invariants();
}

TEST(KvCacheManagerTest, AppendsToATableAndNeverChangesWhatStandsInIt) {
  KvCacheManager kv({.num_groups = 1, .block_size = 4, .num_blocks = 8});
  kv.add_sequence(kFirst, 32);
  kv.add_sequence(kSecond, 32);
  ASSERT_TRUE(kv.allocate_slots(kFirst, 8));
  const auto table = kv.block_table(kFirst, 0);
  const std::vector<BlockId> before(table.begin(), table.end());
  ASSERT_TRUE(kv.allocate_slots(kSecond, 8));
  ASSERT_TRUE(kv.allocate_slots(kFirst, 16));
  const auto grown = kv.block_table(kFirst, 0);
  ASSERT_EQ(grown.size(), 4u);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), grown.begin()));
}

TEST(KvCacheManagerTest, RefusesWithoutTakingAnythingWhenBlocksAreShort) {
  KvCacheManager kv({.num_groups = 2, .block_size = 4, .num_blocks = 5});
  kv.add_sequence(kFirst, 12);
  ASSERT_TRUE(kv.allocate_slots(kFirst, 4));
  EXPECT_FALSE(kv.allocate_slots(kFirst, 12)) << "four more are needed, three are there";
  EXPECT_EQ(kv.num_used_blocks(), 2);
  EXPECT_TRUE(kv.allocate_slots(kFirst, 8));
  kv.check_invariants();
}

TEST(KvCacheManagerTest, GivesEachGroupItsOwnBlocks) {
  KvCacheManager kv({.num_groups = 3, .block_size = 4, .num_blocks = 6});
  kv.add_sequence(kFirst, 8);
  ASSERT_TRUE(kv.allocate_slots(kFirst, 8));
  std::set<BlockId> blocks;
  for (std::int32_t group = 0; group < 3; ++group) {
    ASSERT_EQ(kv.block_table(kFirst, group).size(), 2u);
    blocks.insert(kv.block_table(kFirst, group).begin(), kv.block_table(kFirst, group).end());
  }
  EXPECT_EQ(blocks.size(), 6u);
  EXPECT_FALSE(blocks.contains(kNullBlock));
}

TEST(KvCacheManagerTest, ReleasesOnceHoweverOftenItIsAsked) {
  KvCacheManager kv({.num_groups = 1, .block_size = 4, .num_blocks = 4});
  kv.add_sequence(kFirst, 16);
  ASSERT_TRUE(kv.allocate_slots(kFirst, 16));
  EXPECT_EQ(kv.num_blocks_freed_by_release(std::vector{kFirst}), 4);
  kv.release(kFirst);
  EXPECT_EQ(kv.num_used_blocks(), 0);
  EXPECT_FALSE(kv.holds(kFirst));
  kv.release(kFirst);
  kv.release(kSecond);
  EXPECT_EQ(kv.num_free_blocks(), 4);
  kv.check_invariants();
}

TEST(KvCacheManagerTest, HoldsASequenceAgainAfterItsRelease) {
  KvCacheManager kv({.num_groups = 1, .block_size = 4, .num_blocks = 2});
  for (int round = 0; round < 3; ++round) {
    kv.add_sequence(kFirst, 8);
    EXPECT_TRUE(kv.allocate_slots(kFirst, 8));
    kv.release(kFirst);
  }
  EXPECT_EQ(kv.num_sequences(), 0);
  kv.check_invariants();
}

TEST(KvCacheManagerDeathTest, StopsAtSequencesItDoesNotHoldAndAtThoseItHoldsAlready) {
  KvCacheManager kv({.num_groups = 1, .block_size = 4, .num_blocks = 2});
  EXPECT_DEATH((void)kv.allocate_slots(kFirst, 1), "sequence 1 is not held");
  EXPECT_DEATH((void)kv.block_table(kFirst, 0), "sequence 1 is not held");
  kv.add_sequence(kFirst, 8);
  EXPECT_DEATH(kv.add_sequence(kFirst, 8), "sequence 1 is held already");
  EXPECT_DEATH(KvCacheManager({.num_groups = 1, .block_size = 5, .num_blocks = 2}), "block_size 5");
}

}  // namespace
}  // namespace tvllm::kv_cache
