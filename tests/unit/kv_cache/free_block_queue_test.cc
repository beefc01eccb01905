// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/free_block_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tvllm::kv_cache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int> order_of(const FreeBlockQueue& queue) {
  std::vector<int> ids;
  for (BlockId id = queue.next(kNullBlock); id != kNullBlock; id = queue.next(id)) {
    ids.push_back(id.value());
  }
  return ids;
}

// `count` blocks beside the null block.
struct Queue {
  explicit Queue(std::size_t count) : records(count + 1), queue(records) {}
  std::vector<BlockRecord> records;
  FreeBlockQueue queue;
};

TEST(FreeBlockQueueTest, HoldsAllBlocksButTheNullBlockInOrderOfTheirIds) {
  Queue q(4);
  EXPECT_THAT(order_of(q.queue), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(q.queue.size(), 4);
}

TEST(FreeBlockQueueTest, PopsFromTheFrontAndAppendsAtTheBack) {
  Queue q(3);
  EXPECT_EQ(q.queue.pop_front(), BlockId(1));
  EXPECT_EQ(q.queue.pop_front(), BlockId(2));
  EXPECT_FALSE(q.queue.contains(BlockId(1)));
  q.queue.append(BlockId(2));
  q.queue.append(BlockId(1));
  EXPECT_THAT(order_of(q.queue), ElementsAre(3, 2, 1));
}

TEST(FreeBlockQueueTest, PrependsAtTheFront) {
  Queue q(3);
  q.queue.remove(BlockId(2));
  q.queue.prepend(BlockId(2));
  EXPECT_THAT(order_of(q.queue), ElementsAre(2, 1, 3));
  EXPECT_EQ(q.queue.prev(kNullBlock), BlockId(3));
}

TEST(FreeBlockQueueTest, RemovesFromTheFrontTheMiddleAndTheBack) {
  Queue q(5);
  q.queue.remove(BlockId(3));
  EXPECT_THAT(order_of(q.queue), ElementsAre(1, 2, 4, 5));
  q.queue.remove(BlockId(1));
  q.queue.remove(BlockId(5));
  EXPECT_THAT(order_of(q.queue), ElementsAre(2, 4));
  EXPECT_EQ(q.queue.size(), 2);
}

TEST(FreeBlockQueueTest, WorksAgainAfterItWasEmpty) {
  Queue q(1);
  EXPECT_EQ(q.queue.pop_front(), BlockId(1));
  EXPECT_THAT(order_of(q.queue), IsEmpty());
  q.queue.append(BlockId(1));
  EXPECT_THAT(order_of(q.queue), ElementsAre(1));
}

TEST(FreeBlockQueueTest, IsEmptyWithTheNullBlockAlone) {
  Queue q(0);
  EXPECT_EQ(q.queue.size(), 0);
  EXPECT_THAT(order_of(q.queue), IsEmpty());
}

TEST(FreeBlockQueueDeathTest, RefusesABlockTwiceAndABlockThatIsNotThere) {
  Queue q(2);
  EXPECT_DEATH(q.queue.append(BlockId(1)), "block 1 is in the free block queue");
  EXPECT_DEATH(q.queue.append(kNullBlock), "block 0 is in the free block queue");
  EXPECT_DEATH(q.queue.remove(kNullBlock), "block 0 is not in the free block queue");
  q.queue.remove(BlockId(1));
  EXPECT_DEATH(q.queue.remove(BlockId(1)), "block 1 is not in the free block queue");
  q.queue.pop_front();
  EXPECT_DEATH(q.queue.pop_front(), "queue is empty");
}

}  // namespace
}  // namespace tvllm::kv_cache
