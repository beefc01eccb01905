// SPDX-License-Identifier: Apache-2.0
#include "server/stats_log.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tvllm::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

engine::EngineStats busy() {
  engine::EngineStats stats;
  stats.num_running = 8;
  stats.num_waiting = 2;
  stats.num_blocks = 200;
  stats.num_used_blocks = 25;
  stats.num_prompt_tokens = 1000;
  stats.num_generated_tokens = 4000;
  stats.num_prefix_queries = 800;
  stats.num_prefix_hits = 200;
  return stats;
}

TEST(StatsLogTest, IsDueEveryTenSeconds) {
  StatsLog log(kStart);
  EXPECT_FALSE(log.is_due(kStart + milliseconds(9'999)));
  EXPECT_TRUE(log.is_due(kStart + seconds(10)));
  log.line(busy(), kStart + seconds(12));
  EXPECT_FALSE(log.is_due(kStart + seconds(21)));
  EXPECT_TRUE(log.is_due(kStart + seconds(22)));
}

TEST(StatsLogTest, SaysWhatVllmSays) {
  StatsLog log(kStart);
  EXPECT_EQ(log.line(busy(), kStart + seconds(10)),
            "Avg prompt throughput: 100.0 tokens/s, Avg generation throughput: 400.0 tokens/s, "
            "Running: 8 reqs, Waiting: 2 reqs, KV cache usage: 12.5%, "
            "Prefix cache hit rate: 25.0%");
}

TEST(StatsLogTest, TellsOfTheTimeSinceTheLineBefore) {
  StatsLog log(kStart);
  log.line(busy(), kStart + seconds(10));
  engine::EngineStats later = busy();
  later.num_generated_tokens += 50;
  EXPECT_EQ(log.line(later, kStart + seconds(20)),
            "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 5.0 tokens/s, "
            "Running: 8 reqs, Waiting: 2 reqs, KV cache usage: 12.5%, "
            "Prefix cache hit rate: 0.0%");
}

TEST(StatsLogTest, IsSilentAtRestAfterOneLineThatSaysSo) {
  StatsLog log(kStart);
  EXPECT_EQ(log.line({}, kStart + seconds(10)), "");
  EXPECT_NE(log.line(busy(), kStart + seconds(20)), "");
  engine::EngineStats idle = busy();
  idle.num_running = 0;
  idle.num_waiting = 0;
  EXPECT_NE(log.line(idle, kStart + seconds(30)).find("Running: 0 reqs, Waiting: 0 reqs"),
            std::string::npos);
  EXPECT_EQ(log.line(idle, kStart + seconds(40)), "");
}

TEST(StatsLogTest, WorkBetweenTwoLinesIsNotPassedOver) {
  StatsLog log(kStart);
  engine::EngineStats done;
  done.num_prompt_tokens = 30;
  EXPECT_NE(log.line(done, kStart + seconds(10)).find("Avg prompt throughput: 3.0 tokens/s"),
            std::string::npos);
  EXPECT_EQ(log.line(done, kStart + seconds(20)), "");
}

}  // namespace
}  // namespace tvllm::server
