// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/shared_log.h"

#include <gtest/gtest.h>

namespace tvllm::cuda::emulation {
namespace {

TEST(SharedLogTest, AReadAfterAnotherThreadsWriteIsARace) {
  SharedLog log;
  EXPECT_FALSE(log.write(64, 4, 3).has_value());
  EXPECT_FALSE(log.read(64, 4, 3).has_value());
  const auto race = log.read(64, 4, 4);
  ASSERT_TRUE(race.has_value());
  EXPECT_EQ(race->thread_idx, 3);
  EXPECT_TRUE(race->was_write);
}

TEST(SharedLogTest, AWriteAfterAnotherThreadsReadIsARace) {
  SharedLog log;
  EXPECT_FALSE(log.read(64, 16, 3).has_value());
  EXPECT_FALSE(log.write(80, 4, 4).has_value());
  const auto race = log.write(76, 4, 4);
  ASSERT_TRUE(race.has_value());
  EXPECT_EQ(race->thread_idx, 3);
  EXPECT_FALSE(race->was_write);
}

TEST(SharedLogTest, TwoWritesAreARace) {
  SharedLog log;
  EXPECT_FALSE(log.write(0, 8, 100).has_value());
  EXPECT_TRUE(log.write(4, 4, 101).has_value());
}

TEST(SharedLogTest, ReadersDoNotDisturbEachOtherButForgetNobody) {
  SharedLog log;
  EXPECT_FALSE(log.read(0, 4, 1).has_value());
  EXPECT_FALSE(log.read(0, 4, 40).has_value());
  // The last reader writes: the first one had read.
  EXPECT_TRUE(log.write(0, 4, 40).has_value());
}

TEST(SharedLogTest, ABarrierOfTheBlockOrdersEverything) {
  SharedLog log;
  EXPECT_FALSE(log.write(0, 4, 1).has_value());
  log.next_phase();
  EXPECT_FALSE(log.read(0, 4, 2).has_value());
  EXPECT_FALSE(log.read(0, 4, 70).has_value());
  log.next_phase();
  EXPECT_FALSE(log.write(0, 4, 70).has_value());
}

TEST(SharedLogTest, ABarrierOfAWarpOrdersItsThreadsAlone) {
  SharedLog log;
  EXPECT_FALSE(log.write(0, 4, 33).has_value());
  EXPECT_FALSE(log.write(4, 4, 34).has_value());
  log.next_warp_phase(1);
  EXPECT_FALSE(log.read(0, 4, 40).has_value());
  EXPECT_TRUE(log.read(4, 4, 5).has_value());
  log.next_warp_phase(0);
  EXPECT_TRUE(log.read(4, 4, 5).has_value());
}

TEST(SharedLogTest, NeighboursWithinAWordAreNoRace) {
  SharedLog log;
  EXPECT_FALSE(log.write(0, 2, 1).has_value());
  EXPECT_FALSE(log.write(2, 2, 2).has_value());
  EXPECT_FALSE(log.write(9, 1, 3).has_value());
  EXPECT_FALSE(log.write(10, 1, 4).has_value());
  EXPECT_TRUE(log.read(2, 1, 1).has_value());
}

TEST(SharedLogTest, TheShortPathFindsTheSameRaces) {
  SharedLog log;
  EXPECT_TRUE(log.log_usual_write(0, 4, 1));
  EXPECT_TRUE(log.log_usual_read(0, 4, 1));
  EXPECT_FALSE(log.log_usual_read(12, 1, 2));
  EXPECT_FALSE(log.log_usual_write(8, 1, 2));
  log.next_phase();
  EXPECT_TRUE(log.log_usual_read(12, 1, 2));
  EXPECT_FALSE(log.log_usual_write(12, 1, 1));
}

}  // namespace
}  // namespace tvllm::cuda::emulation
