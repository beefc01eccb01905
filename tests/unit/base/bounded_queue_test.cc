// SPDX-License-Identifier: Apache-2.0
#include "base/bounded_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tvllm {
namespace {

TEST(BoundedQueueTest, IsFirstInFirstOut) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(queue.try_push(int{i}));
  EXPECT_EQ(queue.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(queue.try_pop(), i);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
}

TEST(BoundedQueueTest, RefusesWhenFullAndLeavesTheValue) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.try_push(std::move(second)));
  // NOLINTNEXTLINE(bugprone-use-after-move): that it was not moved is the property
  EXPECT_THAT(second, ::testing::Pointee(2));
  EXPECT_EQ(**queue.try_pop(), 1);
  EXPECT_TRUE(queue.try_push(std::move(second)));
}

TEST(BoundedQueueTest, OfNoCapacityRefusesAll) {
  BoundedQueue<int> queue(0);
  EXPECT_FALSE(queue.try_push(1));
}

TEST(BoundedQueueTest, ReadersDrainAClosedQueueBeforeTheyHearThatItIsClosed) {
  BoundedQueue<int> queue(4);
  EXPECT_TRUE(queue.try_push(1));
  EXPECT_TRUE(queue.try_push(2));
  queue.close();
  EXPECT_FALSE(queue.try_push(3));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueueTest, CloseWakesEveryWaitingReader) {
  BoundedQueue<int> queue(4);
  std::vector<std::jthread> readers;
  readers.reserve(3);
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&queue] { EXPECT_EQ(queue.pop(), std::nullopt); });
  queue.close();
}

TEST(BoundedQueueTest, NothingIsLostOrDoubledBetweenThreads) {
  constexpr int kPerWriter = 5000;
  constexpr int kNumWriters = 3;
  BoundedQueue<int> queue(16);
  std::vector<std::vector<int>> read(2);
  {
    std::vector<std::jthread> readers;
    readers.reserve(read.size());
    for (std::vector<int>& mine : read) {
      readers.emplace_back([&queue, &mine] {
        while (const std::optional<int> value = queue.pop())
          mine.push_back(*value);
      });
    }
    {
      std::vector<std::jthread> writers;
      writers.reserve(kNumWriters);
      for (int w = 0; w < kNumWriters; ++w) {
        writers.emplace_back([&queue, w] {
          for (int i = 0; i < kPerWriter; ++i) {
            while (!queue.try_push(w * kPerWriter + i))
              std::this_thread::yield();
          }
        });
      }
    }
    queue.close();
  }
  std::vector<int> times_seen(kNumWriters * kPerWriter, 0);
  for (const std::vector<int>& mine : read) {
    for (const int value : mine)
      ++times_seen[static_cast<std::size_t>(value)];
  }
  EXPECT_EQ(times_seen, std::vector<int>(times_seen.size(), 1));
}

}  // namespace
}  // namespace tvllm
