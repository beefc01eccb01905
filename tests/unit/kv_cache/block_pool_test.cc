// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace tvllm::kv_cache {
namespace {

using ::testing::ElementsAre;

std::vector<int> ids_of(const std::vector<BlockId>& table) {
  std::vector<int> ids;
  for (const BlockId id : table) {
    ids.push_back(id.value());
  }
  return ids;
}

std::vector<BlockId> take(BlockPool& pool, std::int32_t count) {
  std::vector<BlockId> table;
  EXPECT_TRUE(pool.allocate(count, table));
  return table;
}

TEST(BlockPoolTest, CountsUsedAndFreeBlocksWithoutTheNullBlock) {
  BlockPool pool(8);
  EXPECT_EQ(pool.num_blocks(), 8);
  EXPECT_EQ(pool.num_free_blocks(), 8);
  const auto table = take(pool, 3);
  EXPECT_THAT(ids_of(table), ElementsAre(1, 2, 3));
  EXPECT_EQ(pool.num_used_blocks(), 3);
  EXPECT_EQ(pool.num_free_blocks(), 5);
  pool.check_invariants();
}

TEST(BlockPoolTest, AppendsToATableThatHasBlocks) {
  BlockPool pool(4);
  std::vector<BlockId> table = take(pool, 1);
  EXPECT_TRUE(pool.allocate(2, table));
  EXPECT_THAT(ids_of(table), ElementsAre(1, 2, 3));
}

TEST(BlockPoolTest, GivesAllBlocksAndRefusesOneMoreWithoutTakingAny) {
  BlockPool pool(3);
  std::vector<BlockId> table;
  EXPECT_FALSE(pool.allocate(4, table));
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(pool.num_free_blocks(), 3);
  EXPECT_TRUE(pool.allocate(3, table));
  EXPECT_FALSE(pool.allocate(1, table));
  EXPECT_TRUE(pool.allocate(0, table));
  EXPECT_EQ(table.size(), 3u);
  pool.check_invariants();
}

// Their memory is there already.
TEST(BlockPoolTest, TakesFreshlyFreedBlocksBeforeThoseThatWereNeverUsed) {
  BlockPool pool(4);
  pool.free(take(pool, 2));
  EXPECT_THAT(ids_of(take(pool, 4)), ElementsAre(1, 2, 3, 4));
}

TEST(BlockPoolTest, KeepsASharedBlockUntilItsLastTableIsFreed) {
  BlockPool pool(2);
  const auto table = take(pool, 1);
  pool.touch(table[0]);
  EXPECT_EQ(pool.ref_count(table[0]), 2);
  pool.free(table);
  EXPECT_EQ(pool.num_used_blocks(), 1);
  pool.check_invariants();
  pool.free(table);
  EXPECT_EQ(pool.num_used_blocks(), 0);
  pool.check_invariants();
}

TEST(BlockPoolTest, TouchTakesAnUnreferencedBlockOutOfTheQueue) {
  BlockPool pool(3);
  pool.touch(BlockId(2));
  EXPECT_EQ(pool.num_used_blocks(), 1);
  pool.check_invariants();
  EXPECT_THAT(ids_of(take(pool, 2)), ElementsAre(1, 3));
}

TEST(BlockPoolDeathTest, StopsAtADoubleFreeAndAtBlocksThatDoNotExist) {
  BlockPool pool(2);
  const auto table = take(pool, 1);
  pool.free(table);
  EXPECT_DEATH(pool.free(table), "block 1 is freed, but no table holds it");
  EXPECT_DEATH(pool.free(std::vector<BlockId>{kNullBlock}), "no block 0 in the pool");
  EXPECT_DEATH(pool.touch(BlockId(3)), "no block 3 in the pool");
  EXPECT_DEATH(BlockPool(0), "a pool of 0 blocks");
}

// The same operations, with nothing cached, on plain containers: a deque of unreferenced blocks and
// a map of counts.
class NaivePool {
 public:
  explicit NaivePool(int num_blocks) {
    for (int id = 1; id <= num_blocks; ++id) {
      queue_.push_back(id);
    }
  }
  std::vector<int> allocate(int count) {
    std::vector<int> taken(queue_.begin(), queue_.begin() + count);
    queue_.erase(queue_.begin(), queue_.begin() + count);
    for (const int id : taken) {
      counts_[id] = 1;
    }
    return taken;
  }
  void touch(int id) {
    if (counts_[id]++ == 0) queue_.erase(std::find(queue_.begin(), queue_.end(), id));
  }
  void free(const std::vector<int>& table) {
    for (auto id = table.rbegin(); id != table.rend(); ++id) {
      if (--counts_[*id] == 0) queue_.push_front(*id);
    }
  }
  int num_free() const { return static_cast<int>(queue_.size()); }

 private:
  std::deque<int> queue_;
  std::map<int, int> counts_;
};

TEST(BlockPoolTest, AgreesWithANaivePoolOverRandomOperations) {
  constexpr int kNumBlocks = 24;
  std::mt19937 rng(20240817);
  BlockPool pool(kNumBlocks);
  NaivePool naive(kNumBlocks);
  std::vector<std::vector<BlockId>> tables;
  for (int i = 0; i < 20000; ++i) {
    const unsigned choice = rng() % 4;
    if (choice == 0 && !tables.empty()) {  // free a table
      const std::size_t victim = rng() % tables.size();
      naive.free(ids_of(tables[victim]));
      pool.free(tables[victim]);
      tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(victim));
    } else if (choice == 1) {  // a table that shares any one block
      const BlockId id(static_cast<std::int32_t>(rng() % kNumBlocks) + 1);
      naive.touch(id.value());
      pool.touch(id);
      tables.push_back({id});
    } else {
      const std::int32_t count = static_cast<std::int32_t>(rng() % 6);
      std::vector<BlockId> table;
      ASSERT_EQ(pool.allocate(count, table), count <= naive.num_free());
      if (!table.empty()) {
        ASSERT_EQ(ids_of(table), naive.allocate(count));
        tables.push_back(table);
      }
    }
    ASSERT_EQ(pool.num_free_blocks(), naive.num_free());
    pool.check_invariants();
  }
}

}  // namespace
}  // namespace tvllm::kv_cache
