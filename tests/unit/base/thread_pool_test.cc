// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "tests/support/allocation_counter.h"

namespace tvllm {
namespace {

TEST(ThreadPoolTest, EveryWorkerRunsOncePerRegionAndTheCallerIsWorkerZero) {
  for (const int num_threads : {1, 2, 5}) {
    ThreadPool pool(num_threads);
    EXPECT_EQ(pool.num_threads(), num_threads);
    std::vector<int> runs(static_cast<std::size_t>(num_threads), 0);
    std::thread::id first;
    for (int region = 0; region < 100; ++region) {
      pool.run([&](int worker_idx) {
        ++runs[static_cast<std::size_t>(worker_idx)];
        if (worker_idx == 0) first = std::this_thread::get_id();
      });
    }
    EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(num_threads), 100));
    EXPECT_EQ(first, std::this_thread::get_id());
  }
}

TEST(ThreadPoolTest, ARegionSeesWhatTheLastOneWrote) {
  ThreadPool pool(3);
  std::vector<int> from(3, 0);
  std::vector<int> to(3, 0);
  for (int region = 0; region < 2000; ++region) {
    // Each worker reads its neighbour's word of the region before.
    pool.run([&](int worker_idx) {
      const auto me = static_cast<std::size_t>(worker_idx);
      to[me] = from[(me + 1) % 3] + 1;
    });
    from.swap(to);
  }
  EXPECT_EQ(from, std::vector<int>(3, 2000));
}

TEST(ThreadPoolTest, WorkersThatWentToSleepWakeAgain) {
  ThreadPool pool(3);
  int num_runs = 0;
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::vector<int> runs(3, 0);
    pool.run([&](int worker_idx) { ++runs[static_cast<std::size_t>(worker_idx)]; });
    num_runs += runs[0] + runs[1] + runs[2];
  }
  EXPECT_EQ(num_runs, 15);
}

TEST(ThreadPoolTest, TheCallerWaitsForASlowWorker) {
  ThreadPool pool(2);
  bool done = false;
  pool.run([&](int worker_idx) {
    if (worker_idx != 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = true;
  });
  EXPECT_TRUE(done);
}

TEST(ThreadPoolTest, ParallelForCoversEachIndexOnceInPiecesOfWholeGrains) {
  for (const int num_threads : {1, 2, 3, 4}) {
    ThreadPool pool(num_threads);
    for (const std::size_t count : {0u, 1u, 7u, 16u, 17u, 100u, 1023u}) {
      for (const std::size_t grain : {1u, 4u, 16u, 2000u}) {
        std::vector<int> times(count, 0);
        pool.parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
          EXPECT_LT(begin, end);
          EXPECT_EQ(begin % grain, 0u);
          EXPECT_TRUE(end == count || end % grain == 0);
          for (std::size_t i = begin; i < end; ++i)
            ++times[i];
        });
        EXPECT_EQ(times, std::vector<int>(count, 1)) << count << " by " << grain;
      }
    }
  }
}

TEST(ThreadPoolTest, ARegionAllocatesNothing) {
  ThreadPool pool(3);
  std::vector<int> runs(3, 0);
  const auto body = [&](int worker_idx) { ++runs[static_cast<std::size_t>(worker_idx)]; };
  pool.run(body);
  const std::uint64_t before = testing::num_allocations();
  for (int i = 0; i < 100; ++i)
    pool.run(body);
  EXPECT_EQ(testing::num_allocations(), before);
}

TEST(ThreadPoolTest, AnUnusedPoolEnds) {
  ThreadPool pool(4);
}

TEST(ThreadPoolTest, TheDefaultIsWithinTheMachine) {
  EXPECT_GE(default_num_threads(), 1);
  EXPECT_LE(default_num_threads(), num_machine_cpus());
}

}  // namespace
}  // namespace tvllm
