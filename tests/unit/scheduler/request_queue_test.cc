// SPDX-License-Identifier: Apache-2.0
#include "scheduler/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/make_scheduler.h"

namespace tvllm::scheduler {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<Sequence> make_sequence(std::uint64_t arrival, std::int32_t priority) {
  return std::make_unique<Sequence>(SeqId(arrival), arrival,
                                    testing::make_request({.priority = priority}), 10);
}

std::vector<std::uint64_t> drain(RequestQueue& queue) {
  std::vector<std::uint64_t> order;
  while (!queue.empty()) {
    order.push_back(queue.front().arrival_idx);
    queue.remove(queue.front());
  }
  return order;
}

TEST(RequestQueueTest, ServesArrivalsInOrderAndIgnoresPrioritiesUnderFcfs) {
  RequestQueue queue(SchedulingPolicy::kFcfs);
  const auto a = make_sequence(1, 5), b = make_sequence(2, 0), c = make_sequence(3, -5);
  queue.push(*c);
  queue.push(*a);
  queue.push(*b);
  EXPECT_THAT(drain(queue), ElementsAre(1, 2, 3));
}

TEST(RequestQueueTest, ServesLowerPriorityValuesFirstThenEarlierArrivals) {
  RequestQueue queue(SchedulingPolicy::kPriority);
  const auto a = make_sequence(1, 5), b = make_sequence(2, 0), c = make_sequence(3, 0),
             d = make_sequence(4, -1);
  for (Sequence* seq : {a.get(), b.get(), c.get(), d.get()}) {
    queue.push(*seq);
  }
  EXPECT_THAT(drain(queue), ElementsAre(4, 2, 3, 1));
}

TEST(RequestQueueTest, PutsASequenceThatComesBackAtItsOldPlace) {
  RequestQueue queue(SchedulingPolicy::kFcfs);
  const auto a = make_sequence(1, 0), b = make_sequence(2, 0), c = make_sequence(3, 0);
  queue.push(*b);
  queue.push(*c);
  queue.push(*a);
  EXPECT_EQ(&queue.front(), a.get());
}

TEST(RequestQueueTest, LetsASequenceLeaveFromTheMiddle) {
  RequestQueue queue(SchedulingPolicy::kFcfs);
  const auto a = make_sequence(1, 0), b = make_sequence(2, 0), c = make_sequence(3, 0);
  for (Sequence* seq : {a.get(), b.get(), c.get()}) {
    queue.push(*seq);
  }
  queue.remove(*b);
  EXPECT_FALSE(queue.contains(*b));
  EXPECT_EQ(queue.size(), 2);
  EXPECT_THAT(drain(queue), ElementsAre(1, 3));
}

}  // namespace
}  // namespace tvllm::scheduler
